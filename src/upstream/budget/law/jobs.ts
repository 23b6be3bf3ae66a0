import { perWindow } from './callers.ts';
import type { KeyBudget, Rules, UseOfOthers } from './document.ts';

/*
 * The lane `bulk` has the requests of jobs, and the reads of classes without weight. They use what is left: one at a time
 * when no other request that waits could use the slot, and only as far as no other is expected to
 * need it (see `Reserves`). So that each job ends, they also have a minimum rate, at which they go before refreshes and
 * reads, but not before writes. Their classes take turns, then the callers of a class. All of them
 * are called jobs here.
 */

/** The minimum rate uses at most this share of a low limit. */
const MOST_OF_LIMIT = 1 / 4;
/** Slots that were left count for the minimum rate of this number of windows at most. */
const MOST_AHEAD_WINDOWS = 5;
/** The weight of a window in the use of others, and the number of windows after which that is forgotten. */
const SMOOTHED = 1 / 4;
const FORGOTTEN_WINDOWS = 12;
/** Fewer gaps between slots do not show their pace. */
const LEAST_GAPS = 3;
/** The variance is at most this multiple of the use. */
const MOST_VARIANCE = 4;

/** Milliseconds until the minimum rate gives jobs a turn; infinite without one. */
export function jobDueMs(b: KeyBudget, rules: Rules, now: number): number {
  const everyMs = jobEveryMs(b, rules);
  if (everyMs === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  const dueAt = Math.max(b.jobs?.dueAt ?? now, now - Math.max(everyMs, rules.windowMs));
  return Math.max(0, dueAt - now);
}

/** Number of turns that the minimum rate gives jobs now. */
export function jobsDue(b: KeyBudget, rules: Rules, now: number): number {
  if (jobDueMs(b, rules, now) > 0) return 0;
  const everyMs = jobEveryMs(b, rules);
  const lateMs = Math.min(now - (b.jobs?.dueAt ?? now), Math.max(everyMs, rules.windowMs));
  return 1 + Math.floor(lateMs / everyMs);
}

/** Records a slot of a job. */
export function jobGoes(b: KeyBudget, rules: Rules, now: number): void {
  const everyMs = jobEveryMs(b, rules);
  const ms = everyMs === Number.POSITIVE_INFINITY ? 0 : everyMs;
  const dueAt = b.jobs?.dueAt ?? now;
  // One that had to wait for a free slot keeps the rate, and one that was left counts for the rate later.
  const isInTime = now - dueAt < Math.max(everyMs, rules.windowMs);
  const nextAt = (isInTime ? dueAt : now) + ms;
  b.jobs = {
    dueAt: Math.min(nextAt, now + Math.max(ms, MOST_AHEAD_WINDOWS * rules.windowMs)),
    others: observed(b, rules, now),
  };
}

/** The number of slots that all others are expected to use in a window, and its standard deviation. */
export function needOfOthers(
  b: KeyBudget,
  rules: Rules,
  now: number,
): { readonly expected: number; readonly deviation: number } {
  const known = knownUse(b, rules, now) ?? observed(b, rules, now);
  const expected = Math.max(timesOfOthers(b).length, known.expected);
  const variance = Math.min(known.variance, MOST_VARIANCE * expected);
  return { expected, deviation: Math.sqrt(variance) };
}

/** What is known of the use of others, with that of the window that ends now. */
export function observed(b: KeyBudget, rules: Rules, now: number): UseOfOthers {
  const times = timesOfOthers(b);
  const variance = spreadOf(times);
  const known = knownUse(b, rules, now);
  if (!known) return { expected: times.length, at: now, variance };
  if (now - known.at < rules.windowMs) return { ...known, variance };
  const expected = known.expected + SMOOTHED * (times.length - known.expected);
  return { expected, at: now, variance };
}

/** What was known of the use of others at the latest slot of a job; `undefined` if that is too old. */
function knownUse({ jobs }: KeyBudget, { windowMs }: Rules, now: number): UseOfOthers | undefined {
  const isOld = jobs && now - jobs.others.at > FORGOTTEN_WINDOWS * windowMs;
  return isOld ? undefined : jobs?.others;
}

/** When the slots in the window that no job has used were granted, in this order. */
function timesOfOthers({ answered, held }: KeyBudget): number[] {
  const times: number[] = [];
  for (const { bulk, grantedAt } of answered) if (!bulk) times.push(grantedAt);
  for (const { bulk, grantedAt } of held) if (!bulk) times.push(grantedAt);
  return times.sort((one, other) => one - other);
}

/**
 * The variance of the number of slots in a window, if it comes from the gaps between them: 0 at an even pace, as many
 * as the slots if these come independently of each other, and more if they come together.
 */
function spreadOf(times: readonly number[]): number {
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const mean = meanOf(gaps);
  if (gaps.length < LEAST_GAPS || mean === 0) return times.length;
  const squares = gaps.map((gap) => (gap - mean) ** 2);
  return (times.length * meanOf(squares)) / mean ** 2;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function jobEveryMs({ limit }: KeyBudget, { jobsMinPerMinute = 0, windowMs }: Rules): number {
  return windowMs / Math.min(perWindow(jobsMinPerMinute, windowMs), limit * MOST_OF_LIMIT);
}
