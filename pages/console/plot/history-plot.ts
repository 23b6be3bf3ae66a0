import type { UpstreamState } from '../../../src/console/console-state.ts';
import type { SendSteps } from '../../../src/observe/history/sends.ts';
import { html, setAttribute, setText, svg } from '../dom.ts';
import type { Tooltip } from '../tooltip.ts';
import { timePassed } from '../words.ts';
import { describeStep, stepInWords, stepList } from './describe-step.ts';
import { type Across, layers, rows, type Shapes, sentInWindows, shapesOf } from './shapes.ts';

const GUTTER = 30;

/** The last hour of an upstream under all of its keys. Pointer, touch and arrow keys describe each step. */
export class HistoryPlot {
  readonly node = html('div', { class: 'plot', role: 'slider', tabindex: 0, 'aria-valuemin': 0 });
  readonly #tooltip: Tooltip;
  readonly #picture = svg('svg', { height: rows.height, 'aria-hidden': 'true' });
  readonly #cursor = svg('rect', {
    class: 'cursor',
    y: rows.window.top,
    height: rows.queue.bottom - rows.window.top,
  });
  readonly #windowArea = svg('path', { class: 'window-area' });
  readonly #windowLine = svg('path', { class: 'window-line' });
  readonly #limit = svg('line', { class: 'limit', x1: GUTTER });
  readonly #layers = Object.fromEntries(
    layers.map((layer) => [layer, svg('path', { class: layer })]),
  ) as Record<keyof Shapes['layers'], SVGPathElement>;
  readonly #queue = svg('path', { class: 'queue' });
  readonly #refusals = svg('path', { class: 'refusals' });
  readonly #failures = svg('path', { class: 'failures' });
  readonly #base = svg('line', { class: 'base', x1: GUTTER });
  readonly #labels = {
    limit: label('end'),
    sent: label('end'),
    queued: label('end'),
    window: label('start'),
    step: label('start'),
    queue: label('start'),
  };
  /** A mark every fifteen minutes, by how long it is ago. */
  readonly #times = new Map(
    [0, 15, 30, 45, 60].map((minutes) => {
      const text = label(minutes === 0 ? 'end' : minutes === 60 ? 'start' : 'middle');
      setText(text, minutes === 0 ? 'now' : `${minutes} min ago`);
      const line = svg('line', { class: 'minute', y1: rows.window.top, y2: rows.queue.bottom });
      return [minutes, { line, text }] as const;
    }),
  );
  #across: Across = { left: GUTTER, step: 1 };
  #width = 0;
  #upstream: UpstreamState | null = null;
  #windows: readonly (number | null)[] = [];
  /** The step that is described: by its place where it is pointed at, by its time where keys have chosen it. */
  #chosen: { readonly index: number } | { readonly at: number } | null = null;

  constructor(tooltip: Tooltip) {
    this.#tooltip = tooltip;
    const times = [...this.#times.values()];
    this.#picture.append(
      ...times.map(({ line }) => line),
      this.#cursor,
      this.#windowArea,
      this.#windowLine,
      this.#limit,
      ...Object.values(this.#layers),
      this.#queue,
      this.#refusals,
      this.#failures,
      this.#base,
      ...Object.values(this.#labels),
      ...times.map(({ text }) => text),
    );
    this.node.append(this.#picture);
    new ResizeObserver(() => this.#resize()).observe(this.node);
    this.#listen();
  }

  update(upstream: UpstreamState): void {
    this.#upstream = upstream;
    const { history, keys, title, windowMs } = upstream;
    this.#windows = sentInWindows(history, windowMs);
    const each = history.stepMs / 1000;
    setAttribute(
      this.node,
      'aria-label',
      `${title}: the last hour, in steps of ${each} s. Arrow keys select a step.`,
    );
    setText(
      this.#labels.window,
      `sent in ${windowMs / 1000} s${keys > 1 ? `, with ${keys} keys` : ''}`,
    );
    setText(this.#labels.step, `sent per ${each} s`);
    this.#draw(upstream);
    this.#describe();
  }

  #draw({ history, keys, limit }: UpstreamState): void {
    if (this.#width === 0) return;
    const step = (this.#width - GUTTER) / history.write.length;
    this.#across = { left: GUTTER, step };
    const granted = limit * Math.max(1, keys);
    const shapes = shapesOf(history, granted, this.#windows, this.#across);
    setAttribute(this.#windowArea, 'd', shapes.window.area);
    setAttribute(this.#windowLine, 'd', shapes.window.line);
    for (const layer of layers) setAttribute(this.#layers[layer], 'd', shapes.layers[layer]);
    setAttribute(this.#queue, 'd', shapes.queue);
    setAttribute(this.#refusals, 'd', shapes.refusals);
    setAttribute(this.#failures, 'd', shapes.failures);
    setAttribute(this.#limit, 'y1', shapes.limitY);
    setAttribute(this.#limit, 'y2', shapes.limitY);
    setText(this.#labels.limit, String(granted));
    setText(this.#labels.sent, String(shapes.mostSent));
    const waited = history.queued.some((queued) => queued > 0);
    setText(this.#labels.queue, waited ? 'queue' : 'queue empty');
    setText(this.#labels.queued, waited ? String(shapes.mostQueued) : '');
    place(this.#labels.limit, GUTTER - 6, shapes.limitY + 4);
    this.#drawTimes(history, step);
  }

  #drawTimes({ stepMs }: SendSteps, step: number): void {
    for (const [minutes, { line, text }] of this.#times) {
      const x = Math.round(this.#width - ((minutes * 60_000) / stepMs) * step);
      place(text, x, rows.height - 4);
      for (const end of ['x1', 'x2']) setAttribute(line, end, x);
    }
  }

  #resize(): void {
    const width = this.node.clientWidth;
    if (width === this.#width) return;
    this.#width = width;
    for (const line of [this.#limit, this.#base]) setAttribute(line, 'x2', width);
    for (const end of ['y1', 'y2']) setAttribute(this.#base, end, rows.sends.bottom + 1.5);
    place(this.#labels.sent, GUTTER - 6, rows.sends.top + 8);
    place(this.#labels.queued, GUTTER - 6, rows.queue.bottom);
    place(this.#labels.window, GUTTER, rows.window.top - 5);
    place(this.#labels.step, GUTTER, rows.sends.top - 5);
    place(this.#labels.queue, GUTTER + 3, rows.queue.bottom - 3);
    if (this.#upstream) this.#draw(this.#upstream);
  }

  #listen(): void {
    const { node } = this;
    const point = ({ clientX }: PointerEvent): void => {
      const { left } = node.getBoundingClientRect();
      const index = Math.floor((clientX - left - this.#across.left) / this.#across.step);
      this.#choose({ index: this.#inside(index) });
    };
    node.addEventListener('pointermove', point);
    node.addEventListener('pointerdown', point);
    node.addEventListener('pointerleave', () => this.#choose(null));
    node.addEventListener('blur', () => this.#choose(null));
    node.addEventListener('focus', () => {
      if (node.matches(':focus-visible')) this.#walk(0);
    });
    node.addEventListener('keydown', (event) => {
      const strides = { ArrowLeft: -1, ArrowRight: 1, PageUp: -12, PageDown: 12 };
      const ends = { Home: -Infinity, End: Infinity };
      const stride = { ...strides, ...ends }[event.key];
      if (event.key === 'Escape') this.#choose(null);
      if (stride === undefined) return;
      event.preventDefault();
      this.#walk(stride);
    });
  }

  #walk(stride: number): void {
    if (!this.#upstream) return;
    const { history } = this.#upstream;
    const index = this.#inside((this.#index() ?? history.write.length - 1) + stride);
    this.#choose({
      at: history.lastStepAt - (history.write.length - 1 - index) * history.stepMs,
    });
  }

  #choose(chosen: { readonly index: number } | { readonly at: number } | null): void {
    this.#chosen = chosen;
    if (!chosen) this.#tooltip.hide();
    this.#describe();
  }

  #inside(index: number): number {
    const last = (this.#upstream?.history.write.length ?? 1) - 1;
    return Math.max(0, Math.min(last, index));
  }

  #index(): number | null {
    const chosen = this.#chosen;
    if (!chosen || !this.#upstream) return null;
    if ('index' in chosen) return chosen.index;
    const { lastStepAt, stepMs, write } = this.#upstream.history;
    return this.#inside(write.length - 1 - Math.round((lastStepAt - chosen.at) / stepMs));
  }

  /** Says of the step that is chosen what happened in it; of none, to a screen reader, of the latest. */
  #describe(): void {
    if (!this.#upstream) return;
    const { history } = this.#upstream;
    const index = this.#index();
    const shown = index ?? history.write.length - 1;
    const inWindow = this.#windows[shown] ?? null;
    const described = describeStep(this.#upstream, shown, inWindow);
    setAttribute(this.node, 'aria-valuemax', history.write.length - 1);
    setAttribute(this.node, 'aria-valuenow', shown);
    setAttribute(this.node, 'aria-valuetext', stepInWords(described));
    const { left, step } = this.#across;
    setAttribute(this.#cursor, 'width', index === null ? 0 : Math.max(2, step));
    setAttribute(this.#cursor, 'x', left + shown * step);
    if (index === null) return;
    const frame = this.node.getBoundingClientRect();
    const ago = (history.write.length - 1 - index) * history.stepMs;
    this.#tooltip.show(frame.left + left + (index + 0.5) * step, frame.top + rows.window.top, [
      html(
        'p',
        {},
        html('b', {}, described.time),
        ` ${ago > 0 ? `${timePassed(ago)} ago` : 'now'}`,
      ),
      stepList(described),
    ]);
  }
}

function label(anchor: 'start' | 'middle' | 'end'): SVGTextElement {
  return svg('text', { 'text-anchor': anchor });
}

function place(text: SVGTextElement, x: number, y: number): void {
  setAttribute(text, 'x', x);
  setAttribute(text, 'y', y);
}
