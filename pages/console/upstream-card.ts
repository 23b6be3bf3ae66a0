import type {
  ConsoleState,
  SlotOwner,
  SlotState,
  UpstreamState,
} from '../../src/console/console-state.ts';
import { html, span, svg } from '../dom.ts';
import { counted, inTime } from '../words.ts';
import { headingOf, newReadInWords } from './failures.ts';
import { looks, ownerLabel, owners } from './lanes.ts';
import { plot } from './plot.ts';

/** More slots would be too small to see. */
const MOST_SLOTS = 120;
/** Those that are in the legend only when they have a slot. */
const rare: readonly SlotOwner[] = ['bulk', 'co-tenant', 'before'];

/** One upstream: what is free and when the rest is, the window as slots, and its last hour. */
export function upstreamCard(upstream: UpstreamState, state: ConsoleState): HTMLElement {
  const { free, keys, limit, title, windowMs } = upstream;
  const busiest = keys > 1 ? `, the busiest of ${keys} keys` : '';
  const budget = html(
    'div',
    { class: 'budget' },
    html(
      'p',
      { class: 'free-count' },
      html('b', { class: free === 0 ? 'bad' : null }, String(free)),
      ' free ',
      span('muted', `of ${limit} in ${windowMs / 1000} s${busiest}`),
    ),
    html('p', { class: 'returns' }, returnsInWords(upstream)),
    html('p', { class: 'next-read muted' }, newReadInWords(upstream, state)),
    slots(upstream),
    legend(upstream),
  );
  return html(
    'article',
    { class: 'card upstream', 'data-key': upstream.upstream },
    html('h2', {}, headingOf(title)),
    budget,
    html('div', { class: 'history' }, plot(upstream), plotLegend()),
  );
}

function returnsInWords({ allInMs, nextInMs, slots: taken }: UpstreamState): string {
  if (taken.length === 0) return 'All slots are free.';
  if (nextInMs === null || allInMs === null) return 'Waiting for responses.';
  return `Next slot ${inTime(nextInMs)}, all ${inTime(allInMs)}`;
}

/** The window as its slots, the next to be free first: each that is taken is a ring that empties. */
function slots({ free, limit, slots: taken, windowMs }: UpstreamState): HTMLElement {
  const size = Math.min(MOST_SLOTS, Math.max(limit, taken.length));
  const by = owners.flatMap((owner) => {
    const times = taken.filter((each) => each.owner === owner).length;
    return times > 0 ? [counted(times, looks[owner].word, plural(looks[owner].word))] : [];
  });
  const label = `${limit - free} of ${limit} slots are taken${by.length > 0 ? ': ' : ''}${by.join(', ')}.`;
  return html(
    'div',
    {
      class: `slots ${size > 60 ? 'many' : size > 30 ? 'more' : ''}`,
      role: 'img',
      'aria-label': label,
    },
    Array.from({ length: size }, (_, index) => slot(taken[index], windowMs)),
  );
}

function slot(held: SlotState | undefined, windowMs: number): Node {
  const circle = { cx: 16, cy: 16, r: 13 };
  const track = svg('circle', { class: 'track', ...circle });
  if (!held) {
    return svg('svg', { class: 'slot free', viewBox: '0 0 32 32', 'data-tip': 'Free' }, track);
  }
  const { freeInMs, owner, resource } = held;
  const { shape, word } = looks[owner];
  const when = freeInMs === null ? 'in flight' : `free ${inTime(freeInMs)}`;
  const tip = [word, resource, when].filter(Boolean).join(' · ');
  const left = Math.min(100, (100 * (freeInMs ?? 0)) / windowMs).toFixed(1);
  return svg(
    'svg',
    {
      class: `slot ${freeInMs === null ? 'wire' : 'spent'} ${owner}`,
      viewBox: '0 0 32 32',
      'data-tip': tip,
    },
    track,
    svg('circle', {
      class: 'arc',
      ...circle,
      pathLength: 100,
      'stroke-dasharray': `${left} 100`,
    }),
    svg('path', { class: 'shape', transform: 'translate(16 16)', d: shape }),
  );
}

function legend({ free, slots: taken }: UpstreamState): HTMLElement {
  const lines = owners.flatMap((owner) => {
    const times = taken.filter((each) => each.owner === owner).length;
    if (times === 0 && rare.includes(owner)) return [];
    return [html('li', {}, ownerLabel(owner), html('b', {}, String(times)))];
  });
  const last = html('li', {}, span('mark free'), 'free', html('b', {}, String(free)));
  return html('ul', { class: 'legend' }, lines, last);
}

function plotLegend(): HTMLElement {
  const items = [
    ['limit', 'rate limit'],
    ['queue', 'waiting'],
    ['refused', 'refused by the rate limit'],
    ['failed', 'failed'],
  ] as const;
  return html(
    'ul',
    { class: 'legend plot-legend' },
    items.map(([mark, text]) => html('li', {}, span(`mark ${mark}`), text)),
  );
}

function plural(word: string): string {
  return word.endsWith('s') || word.endsWith('sh') ? `${word}es` : `${word}s`;
}
