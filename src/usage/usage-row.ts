import type { UpstreamName } from '../errors.ts';

/** A day, in milliseconds. Days are numbers of days since 1970, in UTC. */
export const DAY_MS = 86_400_000;

/** What requests are counted by on one day. */
export interface UsageKey {
  readonly upstream: UpstreamName;
  readonly resource: string;
  readonly callerClass: string;
  readonly caller: string;
  readonly operation: string;
}

/** Requests of one day with equal keys. */
export interface UsageRow extends UsageKey {
  /** Number of requests that were sent. */
  readonly calls: number;
  /** Number of requests that were avoided, by the cache or by a request in flight. */
  readonly saved: number;
}

/** In place of a class, a caller and an operation: of requests for which no caller waits. */
export const REFRESHES = '(refreshes)';
/** In place of a caller or an operation: those that are counted together, because there are too many. */
export const OTHERS_TOGETHER = '(others)';
/** In place of an operation without a name. */
export const UNNAMED = '(unnamed)';

/** Not in a text of a row. */
const SEPARATOR = '\n';

/** A text that is equal for equal keys. */
export function textOfKey(key: UsageKey): string {
  const { caller, callerClass, operation, resource, upstream } = key;
  return [upstream, resource, callerClass, caller, operation].join(SEPARATOR);
}

/** A text as a part of a key: on one line. */
export function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/** A row as a value of the store. */
export function textOfRow(row: UsageRow): string {
  const { caller, callerClass, calls, operation, resource, saved, upstream } = row;
  return JSON.stringify([upstream, resource, callerClass, caller, operation, calls, saved]);
}

/** Reads what `textOfRow` wrote; `null` for anything else. Never throws. */
export function rowIn(text: string): UsageRow | null {
  let members: unknown;
  try {
    members = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(members) || members.length !== 7) return null;
  const [upstream, resource, callerClass, caller, operation, calls, saved] = members as unknown[];
  if (upstream !== 'LINKS' && upstream !== 'MARKET') return null;
  if (!isText(resource) || !isText(callerClass) || !isText(caller) || !isText(operation)) {
    return null;
  }
  if (!isCount(calls) || !isCount(saved)) return null;
  return { upstream, resource, callerClass, caller, operation, calls, saved };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
