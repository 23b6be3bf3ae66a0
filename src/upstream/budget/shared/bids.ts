import type { CallerWaits, WaitingCounts } from '../law/turns.ts';

/** Callers of a lane that other replicas are told of: those who have waited the longest. */
const MOST_CALLERS = 32;

/** A bid as it is written in Redis. */
export function bidText({ interactive, oldestMs, refreshes, write }: WaitingCounts): string {
  return JSON.stringify({
    interactive: interactive.slice(0, MOST_CALLERS),
    oldestMs: Math.round(oldestMs),
    refreshes,
    write: write.slice(0, MOST_CALLERS),
  });
}

/** What another replica waits for; whatever else stands there is nothing. */
export function readBid(text: string): WaitingCounts {
  let members: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) members = { ...value };
  } catch {
    // It is nothing.
  }
  const { interactive, oldestMs, refreshes, write } = members;
  return {
    write: callersOf(write),
    interactive: callersOf(interactive),
    refreshes: countOf(refreshes),
    oldestMs: countOf(oldestMs),
  };
}

function callersOf(value: unknown): CallerWaits[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each): CallerWaits[] => {
    if (!Array.isArray(each)) return [];
    const [caller, count, since] = each as unknown[];
    if (typeof caller !== 'string' || countOf(count) === 0) return [];
    return [[caller, countOf(count), typeof since === 'number' ? since : null]];
  });
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0;
}
