import type { ConsoleState } from '../../src/console/console-state.ts';
import { html } from '../dom.ts';
import { count, duration, inTime, share, timePassed, timeToCome } from '../words.ts';
import { callerInWords } from './callers.ts';
import { activeUpstreams, headingOf, healthInWords } from './failures.ts';

/** From this part of the limit on that is taken, it is near. */
const NEAR = 0.8;

/** A line of an answer. */
interface Line {
  readonly text: string;
  readonly mood?: 'bad' | 'warn' | 'muted';
}

const questions: readonly [question: string, answer: (state: ConsoleState) => Line[]][] = [
  ['Rate limit', limits],
  ['Requests by caller, 5 min', spenders],
  ['Waiting requests', waiting],
  ['Upstreams', upstreams],
  ['Failures, 5 min', failures],
  ['Responses, 5 min', answers],
];

/** Answers in text what an operator asks first. */
export function glance(state: ConsoleState): HTMLElement {
  const answered = questions.map(([question, answer]) => {
    const lines = answer(state).map(({ mood, text }) => html('p', { class: mood ?? null }, text));
    return html('div', {}, html('dt', {}, question), html('dd', {}, lines));
  });
  return html('dl', {}, answered);
}

function limits(state: ConsoleState): Line[] {
  return activeUpstreams(state).map(({ free, heldMs, keys, limit, nextInMs, pausedMs, title }) => {
    const of = `${headingOf(title)}: ${free} of ${limit} left${keys > 1 ? ' (busiest key)' : ''}`;
    if (heldMs > 0) return { text: `${of}, circuit breaker open for ${timeToCome(heldMs)}` };
    if (pausedMs > 0) return { text: `${of}, paused for ${timeToCome(pausedMs)}`, mood: 'bad' };
    const next = nextInMs === null ? '' : `, next slot ${inTime(nextInMs)}`;
    if (free === 0) return { text: `${of}${next}`, mood: 'bad' };
    return limit - free >= NEAR * limit ? { text: `${of}${next}`, mood: 'warn' } : { text: of };
  });
}

function spenders({ recent: { sends, spenders: most } }: ConsoleState): Line[] {
  if (sends === 0) return [{ text: 'No requests sent.', mood: 'muted' }];
  const parts = most.map((each) => {
    return `${callerInWords(each, 'refreshes')} ${share(each.count, sends)}`;
  });
  const shown = most.reduce((sum, { count: times }) => sum + times, 0);
  if (shown < sends) parts.push(`others ${share(sends - shown, sends)}`);
  return [{ text: `${parts.join(', ')} of ${count(sends)}` }];
}

function waiting({ waitingCallers, waitingCount }: ConsoleState): Line[] {
  if (waitingCount === 0) return [{ text: 'No waiting requests.', mood: 'muted' }];
  const parts = waitingCallers.map((each) => {
    const { count: times, longestMs } = each;
    return `${callerInWords(each, 'a caller')} ${times}, up to ${timePassed(longestMs)}`;
  });
  const shown = waitingCallers.reduce((sum, { count: times }) => sum + times, 0);
  if (shown === 0) return [{ text: `refreshes and jobs ${count(waitingCount)}` }];
  if (shown < waitingCount)
    parts.push(`refreshes, jobs and other callers ${count(waitingCount - shown)}`);
  return [{ text: parts.join('; '), mood: 'warn' }];
}

function upstreams(state: ConsoleState): Line[] {
  return state.upstreams.map((upstream) => {
    const { bad, text } = healthInWords(upstream);
    const line = `${headingOf(upstream.title)}: ${text}`;
    return bad ? { text: line, mood: 'bad' } : { text: line };
  });
}

function failures({ recent: { codes, failed, level, rejected } }: ConsoleState): Line[] {
  const mood = level === 'failing' ? 'bad' : 'warn';
  const lines: Line[] = codes.map(({ callers, code, failed: times }) => {
    const whose = callers
      .filter(({ caller }) => caller)
      .map((each) => `${callerInWords(each)} ${count(each.count)}`);
    return {
      text: `${code} ${count(times)}${whose.length > 0 ? `: ${whose.join(', ')}` : ''}`,
      mood,
    };
  });
  if (failed === 0) lines.push({ text: 'No failures.', mood: 'muted' });
  if (rejected > 0) {
    lines.push({ text: `Client errors: ${count(rejected)}`, mood: 'muted' });
  }
  return lines;
}

function answers({
  recent: { hits, maxAgeMs, operations, reads, waitP95Ms },
}: ConsoleState): Line[] {
  if (operations === 0) return [{ text: 'No operations.', mood: 'muted' }];
  const rate = `Hit rate ${share(hits, reads)}`;
  return [
    { text: `${rate}, wait p95 ${duration(waitP95Ms)}, oldest data ${timePassed(maxAgeMs)}` },
  ];
}
