import type { ConsoleState, UpstreamState } from '../../src/console/console-state.ts';
import { html, type Keyed, setText } from './dom.ts';
import { headingOf, healthInWords, isIdle, newReadInWords } from './failures.ts';
import { HistoryPlot } from './plot/history-plot.ts';
import { Slots } from './slots.ts';
import type { Tooltip } from './tooltip.ts';
import { inTime, timePassed } from './words.ts';

/** One upstream of a state, with all that the card needs of the rest. */
export interface UpstreamNow {
  readonly upstream: UpstreamState;
  readonly state: ConsoleState;
}

/** The card of one upstream, a line where nothing is asked of it: what is free and when the rest is, the window as slots, and its last hour. */
export function upstreamCard(tooltip: Tooltip): Keyed<UpstreamNow> {
  const title = html('h2');
  const health = html('p', { class: 'health' });
  const free = html('b');
  const limit = html('span', { class: 'muted' });
  const returns = html('p', { class: 'returns' });
  const nextRead = html('p', { class: 'next-read' });
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
      nextRead,
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
      const isUnused = isIdle(upstream);
      node.classList.toggle('idle', isUnused);
      const { bad, text } = healthInWords(upstream);
      setText(health, isUnused ? idleInWords(upstream) : text);
      health.classList.toggle('bad', bad);
      setText(free, String(upstream.free));
      node.classList.toggle('spent', upstream.free === 0);
      const keys = upstream.keys > 1 ? `, the busiest of ${upstream.keys} keys` : '';
      setText(limit, `of ${upstream.limit} in ${upstream.windowMs / 1000} s${keys}`);
      setText(returns, returnsInWords(upstream));
      setText(nextRead, newReadInWords(upstream, state));
      setText(spentOn, spentOnInWords(upstream));
      slots.update(upstream);
      plot.update(upstream);
    },
  };
}

function plotLegend(): HTMLElement {
  return html(
    'ul',
    { class: 'legend plot-legend' },
    html('li', {}, html('span', { class: 'mark limit' }), 'rate limit'),
    html('li', {}, html('span', { class: 'mark queue' }), 'waiting'),
    html('li', {}, html('span', { class: 'mark refused' }), 'refused by the rate limit'),
    html('li', {}, html('span', { class: 'mark failed' }), 'failed'),
  );
}

function idleInWords({ answeredMsAgo, free, limit }: UpstreamState): string {
  const last =
    answeredMsAgo === null ? 'no requests yet' : `last response ${timePassed(answeredMsAgo)} ago`;
  return `idle, ${last}, ${free} of ${limit} left`;
}

function returnsInWords({ allInMs, nextInMs, slots }: UpstreamState): string {
  if (slots.length === 0) return 'All slots are free.';
  if (nextInMs === null || allInMs === null) return 'Waiting for responses.';
  return `Next slot ${inTime(nextInMs)}, all ${inTime(allInMs)}`;
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
  return `Requests: ${parts.join(', ')}`;
}
