import type { ConsoleState, UpstreamState } from '../../src/console/console-state.ts';
import { html, type Keyed, setText } from './dom.ts';
import { HistoryPlot } from './plot/history-plot.ts';
import { Slots } from './slots.ts';
import type { Tooltip } from './tooltip.ts';
import { inTime, timePassed, timeToCome } from './words.ts';

/** One upstream of a state, with all that the card needs of the rest. */
export interface UpstreamNow {
  readonly upstream: UpstreamState;
  readonly state: ConsoleState;
}

/** The card of one upstream: what is free and when the rest is, the window as slots, and its last fifteen minutes. */
export function upstreamCard(tooltip: Tooltip): Keyed<UpstreamNow> {
  const title = html('h2');
  const health = html('p', { class: 'health' });
  const free = html('b');
  const limit = html('span', { class: 'muted' });
  const returns = html('p', { class: 'returns' });
  const nextRead = html('b');
  const spentOn = html('p', { class: 'spent-on muted' });
  const slots = new Slots(tooltip);
  const plot = new HistoryPlot(tooltip);
  const node = html(
    'article',
    { class: 'card upstream' },
    html('header', {}, title, health),
    html(
      'div',
      { class: 'budget' },
      html('p', { class: 'free-count' }, free, ' free ', limit),
      returns,
      html('p', { class: 'next-read' }, 'A new read leaves ', nextRead),
      slots.node,
      slots.legend,
      spentOn,
    ),
    html('div', { class: 'history' }, plot.node, plotLegend()),
  );
  return {
    node,
    update({ state, upstream }) {
      setText(title, headingOf(upstream.title));
      const { bad, text } = healthInWords(upstream);
      setText(health, text);
      health.classList.toggle('bad', bad);
      setText(free, String(upstream.free));
      node.classList.toggle('spent', upstream.free === 0);
      const keys = upstream.keys > 1 ? `, the busiest of ${upstream.keys} keys` : '';
      setText(limit, `of ${upstream.limit} in ${upstream.windowMs / 1000} s${keys}`);
      setText(returns, returnsInWords(upstream));
      setText(nextRead, newReadLeaves(upstream, state));
      setText(spentOn, spentOnInWords(upstream));
      slots.update(upstream, state.at);
      plot.update(upstream);
    },
  };
}

/** `The links API` begins a sentence; a heading is `Links API`. */
function headingOf(title: string): string {
  const name = title.replace(/^The /, '');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function plotLegend(): HTMLElement {
  return html(
    'ul',
    { class: 'legend plot-legend' },
    html('li', {}, html('span', { class: 'mark limit' }), 'rate limit'),
    html('li', {}, html('span', { class: 'mark queue' }), 'waiting'),
    html('li', {}, html('span', { class: 'mark refused' }), 'refused by the upstream'),
  );
}

function healthInWords(upstream: UpstreamState): { bad: boolean; text: string } {
  const { answeredMsAgo, pausedMs, reachable } = upstream;
  if (!reachable) return { bad: true, text: 'does not answer' };
  if (pausedMs > 0) return { bad: true, text: `paused by a refusal for ${timeToCome(pausedMs)}` };
  if (answeredMsAgo === null) return { bad: false, text: 'not asked yet' };
  return { bad: false, text: `answered ${timePassed(answeredMsAgo)} ago` };
}

function returnsInWords({ allInMs, nextInMs, slots }: UpstreamState): string {
  if (slots.length === 0) return 'Nothing is taken.';
  if (nextInMs === null || allInMs === null) return 'Taken until its answers have come.';
  return `next ${inTime(nextInMs)}, all ${inTime(allInMs)}`;
}

/** Behind all that wait now, as far as they are known; a caller who asks little comes earlier, since callers take turns. */
function newReadLeaves(upstream: UpstreamState, state: ConsoleState): string {
  const ahead = state.waiting.filter(
    (waiting) => waiting.upstream === upstream.upstream && waiting.leavesInMs !== null,
  );
  const last = Math.max(0, ...ahead.map(({ leavesInMs }) => leavesInMs ?? 0));
  if (last > 0) {
    const isAll = state.waiting.length === state.waitingCount;
    return `in ${isAll ? 'about' : 'more than'} ${timeToCome(last)}`;
  }
  if (upstream.pausedMs > 0) return inTime(upstream.pausedMs);
  if (upstream.free > 0) return 'now';
  return upstream.nextInMs === null ? 'after an answer' : inTime(upstream.nextInMs);
}

function spentOnInWords({ slots }: UpstreamState): string {
  const spent = new Map<string, number>();
  let unknown = 0;
  for (const { resource } of slots) {
    if (resource === null) unknown += 1;
    else spent.set(resource, (spent.get(resource) ?? 0) + 1);
  }
  const parts = [...spent]
    .sort(([, one], [, other]) => other - one)
    .map(([resource, times]) => `${resource} ${times}`);
  if (parts.length === 0) return '';
  if (unknown > 0) parts.push(`others ${unknown}`);
  return `Spent on ${parts.join(', ')}`;
}
