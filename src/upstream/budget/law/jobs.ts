import { perWindow } from './callers/quotas.ts';
import type { JobTurns, KeyBudget, Rules } from './document.ts';

/*
 * The requests of jobs use what is left: one at a time over all processes, when no other request that waits could use
 * the slot, and only as far as no other is expected to need it (see `Reserves`). So that each job ends, they also have a
 * minimum rate, at which they go before refreshes and reads, but not before writes.
 */

/** The minimum rate uses at most this share of a low limit. */
const MOST_OF_LIMIT = 1 / 4;
/** Number of windows in which the use of others is observed: later ones count most. */
const OBSERVED_WINDOWS = 5;
/** A window changes the variance by at most this multiple of the use: it can be the begin or the end of a working day. */
const MOST_VARIANCE = 4;

/** Milliseconds until the minimum rate gives jobs a turn; infinite without one. */
export function jobDueMs(b: KeyBudget, rules: Rules, now: number): number {
  if (jobEveryMs(b, rules) === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  return Math.max(0, (b.jobs?.dueAt ?? now) - now);
}

/** Number of turns that the minimum rate gives jobs now. */
export function jobsDue(b: KeyBudget, rules: Rules, now: number): number {
  if (jobDueMs(b, rules, now) > 0) return 0;
  const everyMs = jobEveryMs(b, rules);
  const lateMs = Math.min(now - (b.jobs?.dueAt ?? now), Math.max(everyMs, rules.windowMs));
  return 1 + Math.floor(lateMs / everyMs);
}

/** Records a slot of a job of a process. */
export function jobGoes(b: KeyBudget, rules: Rules, now: number, owner: string): void {
  const everyMs = jobEveryMs(b, rules);
  const dueAt = b.jobs?.dueAt ?? now;
  // One that had to wait for a free slot keeps the rate.
  const isLate = dueAt <= now && now - dueAt < Math.max(everyMs, rules.windowMs);
  const ms = everyMs === Number.POSITIVE_INFINITY ? 0 : everyMs;
  b.jobs = { owner, dueAt: (isLate ? dueAt : now) + ms, others: observed(b, rules, now) };
}

/** The number of slots that all others are expected to use in a window, and its standard deviation. */
export function needOfOthers(
  b: KeyBudget,
  rules: Rules,
  now: number,
): { readonly expected: number; readonly deviation: number } {
  const used = usedByOthers(b);
  const { mean, variance } = known(b, rules, now) ?? { mean: used, variance: used };
  return { expected: Math.max(used, mean), deviation: Math.sqrt(variance) };
}

/** The number of slots in a window that all others use on average. */
export function othersPerWindow(b: KeyBudget, rules: Rules, now: number): number {
  return observed(b, rules, now).mean;
}

/** What is known of the use of others, with that of the window that ends now. */
function observed(b: KeyBudget, rules: Rules, now: number): JobTurns['others'] {
  const used = usedByOthers(b);
  const before = known(b, rules, now);
  // Before it is known how they come, their times are assumed to be independent.
  if (!before) return { mean: used, variance: used, since: now - rules.windowMs, at: now };
  const { at, mean, since, variance } = before;
  const ms = Math.min(OBSERVED_WINDOWS * rules.windowMs, now - since);
  const weight = Math.min(1, (now - at) / ms);
  const square = Math.min((used - mean) ** 2, MOST_VARIANCE * Math.max(used, mean));
  return {
    mean: mean + weight * (used - mean),
    variance: variance + weight * (square - variance),
    since,
    at: now,
  };
}

/** What was known of the use of others at the latest slot of a job; `undefined` if that is too old. */
function known(
  { jobs }: KeyBudget,
  { windowMs }: Rules,
  now: number,
): JobTurns['others'] | undefined {
  const isOld = jobs && now - jobs.others.at > 2 * OBSERVED_WINDOWS * windowMs;
  return isOld ? undefined : jobs?.others;
}

/** Number of slots in the window that no job has used. */
function usedByOthers({ answered, held }: KeyBudget): number {
  let count = 0;
  for (const { bulk } of held) if (!bulk) count += 1;
  for (const { bulk } of answered) if (!bulk) count += 1;
  return count;
}

function jobEveryMs({ limit }: KeyBudget, { jobsMinPerMinute = 0, windowMs }: Rules): number {
  return windowMs / Math.min(perWindow(jobsMinPerMinute, windowMs), limit * MOST_OF_LIMIT);
}
