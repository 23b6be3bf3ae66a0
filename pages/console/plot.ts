import type { UpstreamState } from '../../src/console/console-state.ts';
import { html, svg } from '../dom.ts';
import { counted, share } from '../words.ts';
import { looks } from './lanes.ts';
import { tell } from './tooltip.ts';

type History = UpstreamState['history'];

/** Who sends, from the bottom of a column to its top. */
const layers = ['write', 'interactive', 'refresh', 'bulk', 'foreign'] as const;
/** Pixels from the top: what was sent, and below, downward, what waited. */
const SENT = { top: 8, bottom: 120 };
const QUEUE = { top: 123, bottom: 153 };
const HEIGHT = 156;
const LAST = 59;

/** The minutes that keys have chosen, by upstream. */
const chosen = new Map<string, number>();

/** The last hour of an upstream under all of its keys, in minutes. Pointer, touch and arrow keys describe each. */
export function plot({ history, keys, limit, title, upstream, windowMs }: UpstreamState): Node {
  const minutes = [...history.write.keys()];
  const sent = minutes.map((minute) => sum(layers.map((layer) => history[layer][minute] ?? 0)));
  const granted = Math.round((limit * Math.max(1, keys) * 60_000) / windowMs);
  const most = Math.max(granted, ...sent);
  const mostQueued = Math.max(0, ...history.maxQueued);
  const limitY = heightOf(granted, most);
  const minute = chosen.get(upstream) ?? LAST;
  const chart = svg(
    'svg',
    {
      class: 'chart',
      viewBox: `0 0 ${minutes.length} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    layers.map((layer) => svg('path', { class: layer, d: columns(history, layer, most) })),
    svg('path', { class: 'queue', d: queue(history.maxQueued, mostQueued) }),
    line('limit', limitY),
    line('base', SENT.bottom + 1.5),
    svg('path', { class: 'refusals', d: marks(history.refused, `${SENT.top}V${SENT.bottom}`) }),
    svg('path', { class: 'failures', d: marks(history.failed, `${SENT.top}h0`) }),
    minutes.map((x) =>
      svg('rect', {
        class: 'minute',
        x,
        width: 1,
        height: HEIGHT,
        'data-tip': describe(history, x, granted),
      }),
    ),
  );
  const scale = svg(
    'svg',
    { class: 'scale', 'aria-hidden': 'true' },
    svg('text', { x: 26, y: limitY + 4 }, String(granted)),
    most > 2 * granted ? svg('text', { x: 26, y: SENT.top + 4 }, String(most)) : null,
    mostQueued > 0 ? svg('text', { x: 26, y: QUEUE.bottom }, String(mostQueued)) : null,
  );
  const range = html('input', {
    type: 'range',
    min: 0,
    max: LAST,
    value: LAST,
    'data-upstream': upstream,
    'aria-label': `${title}: the last hour, in minutes. Arrow keys select one.`,
    'aria-valuetext': describe(history, minute, granted).replaceAll('\n', ', '),
  });
  const times = ['60 min ago', '45', '30', '15', 'now'].map((time) => html('span', {}, time));
  return html(
    'div',
    { class: 'plot' },
    html('p', { class: 'muted' }, `Requests per minute${keys > 1 ? `, with ${keys} keys` : ''}`),
    scale,
    chart,
    range,
    html('p', { class: 'times muted' }, times),
  );
}

/** Describes the minutes that keys choose, as long as the page is open; `redraw` says it to a screen reader. */
export function startChoosing(redraw: () => void): void {
  const choose = ({ target }: Event): void => {
    if (!(target instanceof HTMLInputElement) || target.type !== 'range') return;
    const minute = target.valueAsNumber;
    chosen.set(target.dataset['upstream'] ?? '', minute);
    redraw();
    tell(target.closest('.plot')?.querySelectorAll('.minute')[minute] ?? null);
  };
  document.addEventListener('input', choose);
  document.addEventListener('focusin', choose);
  document.addEventListener('focusout', () => tell(null));
}

/** What happened in a minute, in lines. */
function describe(history: History, minute: number, granted: number): string {
  const of = (field: keyof History): number => history[field][minute] ?? 0;
  const words = {
    write: counted(of('write'), looks.write.word),
    interactive: counted(of('interactive'), looks.interactive.word),
    refresh: counted(of('refresh'), looks.refresh.word, 'refreshes'),
    bulk: `${of('bulk')} by jobs`,
    foreign: `${of('foreign')} by co-tenants`,
  };
  const sent = sum(layers.map(of));
  return [
    minute === LAST ? 'now' : `${LAST - minute} min ago`,
    sent === 0 ? 'nothing sent' : `${share(sent, granted)} of the limit`,
    ...layers.filter((layer) => of(layer) > 0).map((layer) => words[layer]),
    of('maxQueued') > 0 ? `up to ${of('maxQueued')} waiting` : '',
    of('refused') > 0 ? `${of('refused')} refused` : '',
    of('failed') > 0 ? `${of('failed')} failed` : '',
  ]
    .filter(Boolean)
    .join('\n');
}

function columns(history: History, layer: (typeof layers)[number], most: number): string {
  const below = layers.slice(0, layers.indexOf(layer));
  return history[layer]
    .map((sent, minute) => {
      if (sent === 0) return '';
      const start = sum(below.map((each) => history[each][minute] ?? 0));
      return box(minute, heightOf(start + sent, most), heightOf(start, most));
    })
    .join('');
}

function queue(waiting: readonly number[], most: number): string {
  const height = QUEUE.bottom - QUEUE.top;
  return waiting
    .map((n, minute) => (n > 0 ? box(minute, QUEUE.top, QUEUE.top + (height * n) / most) : ''))
    .join('');
}

/** A mark in each minute in which something happened; `shape` is a path from its top. */
function marks(times: readonly number[], shape: string): string {
  return times.map((n, minute) => (n > 0 ? `M${minute + 0.5} ${shape}` : '')).join('');
}

function line(className: string, y: number): SVGElement {
  return svg('line', { class: className, x2: LAST + 1, y1: y, y2: y });
}

function heightOf(count: number, most: number): number {
  return SENT.bottom - ((SENT.bottom - SENT.top) * count) / Math.max(1, most);
}

function box(minute: number, top: number, bottom: number): string {
  return `M${minute + 0.1} ${top.toFixed(1)}h.8V${bottom.toFixed(1)}h-.8z`;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, each) => all + each, 0);
}
