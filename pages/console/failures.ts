import type { ConsoleState, UpstreamState } from '../../src/console/console-state.ts';
import { counted, share, timeOfDay, timePassed, timeToCome } from '../words.ts';
import { callerInWords } from './callers.ts';

/** The part of a code's failures from which one caller has most of them. */
const MOSTLY = 0.5;
/** Codes with a smaller part of all failures are left out of the sentence. */
const WORTH_NAMING = 0.2;

/** `The links API` begins a sentence; a heading is `Links API`. */
export function headingOf(title: string): string {
  const name = title.replace(/^The /, '');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** How many operations fail, with which code, and mostly whose they are; without failures, that there are none. */
export function failuresInWords({ recent }: ConsoleState): string {
  const { codes, failed, operations } = recent;
  const of = counted(operations, 'operation');
  if (operations === 0) return 'No operations in the last 5 minutes.';
  if (failed === 0) return `${of} in the last 5 minutes, none failed.`;
  const named = codes.filter(({ failed: times }, index) => {
    return index === 0 || times >= WORTH_NAMING * failed;
  });
  const causes = named.map(({ callers: [most], code, failed: times }) => {
    const isMost = most?.caller && most.count >= MOSTLY * times;
    return { code, whose: isMost ? `, mostly ${callerInWords(most)}` : '' };
  });
  const [first] = causes;
  // Said once if one caller has most failures of each code.
  const all = causes.every(({ whose }) => whose === first?.whose) ? (first?.whose ?? '') : null;
  const words = causes.map(({ code, whose: own }) => (all === null ? code + own : code));
  return `${share(failed, operations)} of ${of} fail: ${words.join('; ')}${all ?? ''}.`;
}

/** Whether an upstream works; otherwise why not, since when, how often in a row, and when it is tried again. */
export function healthInWords(upstream: UpstreamState): { bad: boolean; text: string } {
  const { answeredMsAgo, failure, free, heldMs, nextInMs, pausedMs } = upstream;
  const refused = `refused a request because of its rate limit, paused for ${timeToCome(pausedMs)}`;
  if (failure) {
    const { inARow, isUniform, reason, resource, since } = failure;
    const what = resource === null ? reason : `${reason} for ${resource}`;
    const began = `since ${timeOfDay(since)}, ${inARow} in a row`;
    const run = isUniform ? `${what} ${began}` : `failing ${began}, the latest: ${what}`;
    const text = inARow > 1 ? run : `${what} at ${timeOfDay(since)}`;
    const ms = Math.max(heldMs, free > 0 ? 0 : (nextInMs ?? 0));
    const next = ms > 0 ? `next attempt in ${timeToCome(ms)}` : 'retried with the next request';
    return { bad: true, text: `${text}, ${pausedMs > 0 ? refused : next}` };
  }
  if (pausedMs > 0) return { bad: true, text: refused };
  if (answeredMsAgo === null) return { bad: false, text: 'no requests yet' };
  return { bad: false, text: `working, last response ${timePassed(answeredMsAgo)} ago` };
}

/** The upstreams that are, or were, asked anything in the last hour; all of them where none is. */
export function activeUpstreams({ upstreams }: ConsoleState): readonly UpstreamState[] {
  const asked = upstreams.filter(({ failure, heldMs, history, pausedMs, slots }) => {
    const counts = Object.values(history).flat();
    return slots.length > 0 || failure || heldMs + pausedMs > 0 || counts.some((n) => n > 0);
  });
  return asked.length > 0 ? asked : upstreams;
}

/** When a new read is sent: behind all that wait now, as far as they are known. */
export function newReadInWords(upstream: UpstreamState, state: ConsoleState): string {
  if (upstream.heldMs > 0) {
    return `New reads fail immediately; next attempt in ${timeToCome(upstream.heldMs)}`;
  }
  return `A new read is sent ${newReadIsSent(upstream, state)}`;
}

/** A caller who asks little comes earlier than the last of those who wait, since callers take turns. */
function newReadIsSent(upstream: UpstreamState, state: ConsoleState): string {
  const ahead = state.waiting.filter(
    (waiting) => waiting.upstream === upstream.upstream && waiting.leavesInMs !== null,
  );
  const last = Math.max(0, ...ahead.map(({ leavesInMs }) => leavesInMs ?? 0));
  if (last > 0) {
    const isAll = state.waiting.length === state.waitingCount;
    return `in ${isAll ? 'about' : 'more than'} ${timeToCome(last)}`;
  }
  if (upstream.pausedMs > 0) return `in ${timeToCome(upstream.pausedMs)}`;
  if (upstream.free > 0) return 'now';
  return upstream.nextInMs === null ? 'when a slot is free' : `in ${timeToCome(upstream.nextInMs)}`;
}
