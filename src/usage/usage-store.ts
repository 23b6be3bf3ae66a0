import type { AtOnce } from '../scheduling/at-once.ts';
import type { UsageRow } from './usage-row.ts';

/** A day, in milliseconds. */
export const DAY_MS = 86_400_000;
/** Number of days that are kept. */
export const KEPT_DAYS = 400;

/** Keeps the usage of days. A day is a number of days since 1970, in UTC. */
export interface UsageStore {
  /** Adds requests to the usage of a day, the current one or the one before. Never throws. */
  add(day: number, row: UsageRow): void;
  /** The usage of a day; none if nothing is known of it. Equal keys can occur several times. Rejects if it cannot be read. */
  read(day: number): AtOnce<readonly UsageRow[]>;
  /** The first day that may have usage. */
  readonly firstDay: number;
  /** Number of requests on a day to an upstream, by callers of a class, before this process started. */
  callsBefore(day: number, upstream: UsageRow['upstream'], callerClass: string): number;
  /** Saves what is not saved yet. */
  close(): AtOnce<void>;
}
