import type { DocumentForm } from '../../../redis/shared-document.ts';
import { jsonMembers } from '../../../storage/json-members.ts';
import { classOf } from '../law/callers/caller-names.ts';
import { dayCountsMs } from '../law/callers/quotas.ts';
import {
  type BulkWaits,
  type CallerWaits,
  inTurns,
  type WaitingCounts,
} from '../law/callers/turns.ts';
import { type KeyBudget, newBudget, type Rules } from '../law/document.ts';
import { purge } from '../law/slots.ts';

/** Time for which a known budget without slots is remembered, in milliseconds. */
const REMEMBERED_MS = 600_000;
/** Time for which an unknown budget is remembered, in milliseconds. It is short, because callers can invent keys. */
const UNKNOWN_MS = 1000;

/** Maximum number of callers per lane announced to other replicas: those that have waited the longest. */
const MOST_CALLERS = 32;

/** The format of a key's budget in Redis. */
export function budgetForm(rules: Rules): DocumentForm<KeyBudget> {
  const example = newBudget(rules, 0);
  return {
    read(text, now) {
      const budget = text === '' ? newBudget(rules, now) : parsed(text, example);
      if (budget) purge(budget, rules, now);
      return budget;
    },
    write: (budget) => JSON.stringify(budget),
    keepMs(b, now) {
      const moments = [
        ...b.answered.map(({ until }) => until),
        ...b.coTenants.map(({ until }) => until),
        ...b.held.map(({ grantedAt, until }) =>
          Math.max(until ?? now, grantedAt + (rules.ghostMs ?? 0)),
        ),
        b.pause.until ?? now,
        now + dayCountsMs(b, rules, now),
      ];
      const countsMs = moments.reduce((last, moment) => Math.max(last, moment), now) - now;
      return countsMs + (b.caution.blind ? UNKNOWN_MS : REMEMBERED_MS);
    },
  };
}

/** Parses a budget; `null` if the text is not one. */
function parsed(text: string, example: KeyBudget): KeyBudget | null {
  const value: unknown = jsonMembers(text);
  if (!isLike(value, example)) return null;
  const budget = value as KeyBudget;
  const { interactive, write } = budget.turns.served;
  const isWhole =
    [...budget.held, ...budget.answered, ...budget.coTenants].every(({ until }) =>
      Number.isFinite(until),
    ) &&
    [...budget.held, ...budget.answered].every(({ grantedAt }) => Number.isFinite(grantedAt)) &&
    [...Object.values(interactive), ...Object.values(write)].every(Number.isFinite);
  return isWhole ? budget : null;
}

/** Whether a value has the members of an example; a `null` there accepts a number too. */
function isLike(value: unknown, example: unknown): boolean {
  if (example === null) return value === null || Number.isFinite(value);
  if (typeof example === 'number') return Number.isFinite(value);
  if (Array.isArray(example)) return Array.isArray(value) && value.every(isObject);
  if (!isObject(example)) return typeof value === typeof example;
  if (!isObject(value)) return false;
  return Object.entries(example).every(([name, member]) => isLike(value[name], member));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The format of a bid in Redis. */
export function bidText({ bulk, interactive, oldestMs, refreshes, write }: WaitingCounts): string {
  return JSON.stringify({
    ...(bulk.length > 0 && { bulk }),
    interactive: announced(interactive),
    oldestMs: Math.round(oldestMs),
    refreshes,
    write: announced(write),
  });
}

/** The callers to announce: of each class those that have waited the longest. */
function announced(callers: readonly CallerWaits[]): CallerWaits[] {
  if (callers.length <= MOST_CALLERS) return [...callers];
  const classes = new Map<string, CallerWaits[]>();
  for (const each of callers) {
    const name = classOf(each[0]);
    const ofClass = classes.get(name);
    if (ofClass) ofClass.push(each);
    else classes.set(name, [each]);
  }
  return [...inTurns([...classes.values()])].slice(0, MOST_CALLERS);
}

/** The waiting requests of other replicas, by replica name. */
export function bidsIn(texts: ReadonlyMap<string, string>): ReadonlyMap<string, WaitingCounts> {
  return new Map([...texts].map(([name, text]) => [name, readBid(text)]));
}

/** The waiting requests of another replica; unknown content is ignored. */
function readBid(text: string): WaitingCounts {
  const { bulk, interactive, oldestMs, refreshes, write } = jsonMembers(text);
  return {
    write: callersOf(write),
    interactive: callersOf(interactive),
    refreshes: countOf(refreshes),
    oldestMs: countOf(oldestMs),
    bulk: bulkOf(bulk),
  };
}

function bulkOf(value: unknown): BulkWaits[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each): BulkWaits[] => {
    if (!Array.isArray(each)) return [];
    const [name, count] = each as unknown[];
    return typeof name === 'string' && countOf(count) > 0 ? [[name, countOf(count)]] : [];
  });
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
