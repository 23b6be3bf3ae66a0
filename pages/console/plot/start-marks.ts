import type { Start } from '../../../src/observe/history/past.ts';
import type { StepTimes } from '../../../src/observe/history/steps.ts';
import { setAttribute, setText, svg } from '../dom.ts';

/** Labels that are closer together, in pixels, would cover each other. */
const APART = 70;

/** Where a plot is drawn. */
interface Area {
  /** Where its first column begins, and how wide each is. */
  readonly left: number;
  readonly step: number;
  readonly columns: number;
  readonly top: number;
  readonly bottom: number;
}

/** Marks each start of the gateway with its version, and the time before it in which none ran. */
export class StartMarks {
  readonly node = svg('g', { class: 'starts' });
  readonly #marks: { down: SVGRectElement; line: SVGLineElement; label: SVGTextElement }[] = [];

  update(starts: readonly Start[], { lastStepAt, stepMs }: StepTimes, area: Area): void {
    const { bottom, columns, left, step, top } = area;
    while (this.#marks.length < starts.length) this.#add();
    while (this.#marks.length > starts.length) {
      const mark = this.#marks.pop();
      for (const node of mark ? Object.values(mark) : []) node.remove();
    }
    const right = left + columns * step;
    const xOf = (at: number): number => {
      return Math.max(left, Math.min(right, right - ((lastStepAt + stepMs - at) / stepMs) * step));
    };
    let free = right;
    for (let index = starts.length - 1; index >= 0; index -= 1) {
      const start = starts[index];
      const mark = this.#marks[index];
      if (!start || !mark) continue;
      const x = Math.round(xOf(start.at));
      const from = start.downSince === null ? x : Math.round(xOf(start.downSince));
      for (const end of ['x1', 'x2']) setAttribute(mark.line, end, x);
      setAttribute(mark.line, 'y1', top);
      setAttribute(mark.line, 'y2', bottom);
      setAttribute(mark.down, 'x', from);
      setAttribute(mark.down, 'y', top);
      setAttribute(mark.down, 'width', Math.max(0, x - from));
      setAttribute(mark.down, 'height', bottom - top);
      const hasRoom = x + APART <= free || index === starts.length - 1;
      setText(mark.label, hasRoom ? start.version : '');
      if (hasRoom) free = x;
      const isAtEnd = right - x < APART;
      setAttribute(mark.label, 'text-anchor', isAtEnd ? 'end' : 'start');
      setAttribute(mark.label, 'x', isAtEnd ? x - 3 : x + 3);
      setAttribute(mark.label, 'y', top + 9);
    }
  }

  #add(): void {
    const mark = {
      down: svg('rect', { class: 'down' }),
      line: svg('line', { class: 'start' }),
      label: svg('text', { class: 'start' }),
    };
    this.#marks.push(mark);
    this.node.append(...Object.values(mark));
  }
}
