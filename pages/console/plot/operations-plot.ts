import type { ConsoleState } from '../../../src/console/console-state.ts';
import { html, setAttribute, setText, svg } from '../dom.ts';
import type { Tooltip } from '../tooltip.ts';
import { count, share, timeOfDay, timePassed } from '../words.ts';
import { coarseSteps, sums } from './coarse.ts';
import { StartMarks } from './start-marks.ts';

const HEIGHT = 64;
const TOP = 14;

/** The operations of the last hour, those that failed in red, with each start and its version. */
export class OperationsPlot {
  readonly node = html('div', { class: 'operations-plot' });
  readonly #tooltip: Tooltip;
  readonly #picture = svg('svg', { height: HEIGHT, role: 'img' });
  readonly #ended = svg('path', { class: 'ended' });
  readonly #failed = svg('path', { class: 'failed' });
  readonly #marks = new StartMarks();
  readonly #caption = html('p', { class: 'muted' });
  #past: ConsoleState['past'] | null = null;
  #pointed: number | null = null;

  constructor(tooltip: Tooltip) {
    this.#tooltip = tooltip;
    this.#picture.append(this.#ended, this.#failed, this.#marks.node);
    this.node.append(this.#picture, this.#caption);
    new ResizeObserver(() => this.#draw()).observe(this.node);
    this.#picture.addEventListener('pointermove', ({ clientX }) => {
      this.#pointed = clientX;
      this.#describe();
    });
    this.#picture.addEventListener('pointerleave', () => {
      this.#pointed = null;
      tooltip.hide();
    });
  }

  update(past: ConsoleState['past']): void {
    this.#past = past;
    this.#draw();
    this.#describe();
  }

  #draw(): void {
    const width = this.node.clientWidth;
    if (!this.#past || width === 0) return;
    const { operations, starts } = this.#past;
    const coarse = coarseSteps(operations, operations.ended.length);
    const ended = sums(coarse, operations.ended);
    const failed = sums(coarse, operations.failed);
    const most = Math.max(4, ...ended);
    const step = width / ended.length;
    const columns = (counts: readonly number[]): string =>
      counts
        .map((times, index) => {
          if (times === 0) return '';
          const height = Math.max(2, ((HEIGHT - TOP) * times) / most);
          const x = (index * step).toFixed(1);
          return `M${x} ${HEIGHT}v-${height.toFixed(1)}h${Math.max(1, step - 1).toFixed(1)}V${HEIGHT}z`;
        })
        .join('');
    setAttribute(this.#ended, 'd', columns(ended));
    setAttribute(this.#failed, 'd', columns(failed));
    const area = { left: 0, step, columns: ended.length, top: 0, bottom: HEIGHT };
    this.#marks.update(starts, coarse, area);
    const all = operations.ended.reduce((sum, times) => sum + times, 0);
    const bad = operations.failed.reduce((sum, times) => sum + times, 0);
    const span = timePassed(operations.ended.length * operations.stepMs);
    const text = `${count(all)} operations in ${span}, ${count(bad)} failed`;
    setText(this.#caption, text);
    setAttribute(this.#picture, 'aria-label', text);
  }

  #describe(): void {
    if (this.#pointed === null || !this.#past) return;
    const { operations } = this.#past;
    const coarse = coarseSteps(operations, operations.ended.length);
    const { left, top, width } = this.node.getBoundingClientRect();
    const { length } = coarse.ranges;
    const index = Math.max(
      0,
      Math.min(length - 1, Math.floor(((this.#pointed - left) / width) * length)),
    );
    const ended = sums(coarse, operations.ended)[index] ?? 0;
    const failed = sums(coarse, operations.failed)[index] ?? 0;
    const at = coarse.lastStepAt - (length - 1 - index) * coarse.stepMs;
    const how =
      ended === 0 ? 'no operations' : `${count(ended)} operations, ${share(failed, ended)} failed`;
    this.#tooltip.show(this.#pointed, top, [html('b', {}, timeOfDay(at)), ` ${how}`]);
  }
}
