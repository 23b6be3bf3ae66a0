import type { Clock } from '../../scheduling/clock.ts';
import type { OperationRecord } from '../events.ts';
import { HourCounts } from './hour.ts';
import { Spread } from './spread.ts';

/** What one caller, or refreshes, have spent on one resource in the last hour. */
export class SpenderRow {
  readonly caller: string;
  readonly resource: string;
  /** One field: requests. */
  readonly counts: HourCounts;

  constructor(clock: Clock, key: string) {
    const end = key.indexOf(' ');
    this.resource = key.slice(0, end);
    this.caller = key.slice(end + 1);
    this.counts = new HourCounts(clock, 1);
  }

  /** Names a row: a resource has no space in it. */
  static key(caller: string, resource: string): string {
    return `${resource} ${caller}`;
  }

  merge(other: SpenderRow): void {
    this.counts.merge(other.counts);
  }
}

const RUNS = 0;
const CALLS = 1;
const SAVED = 2;
const ERRORS = 3;
const IN_FRONT = 4;

/** What operations of one name have cost in the last hour. */
export class OperationRow {
  readonly type: string;
  /** `null`: all of the type without a name. */
  readonly name: string | null;
  readonly #counts: HourCounts;
  readonly #waits: Spread;
  readonly #durations: Spread;

  constructor(clock: Clock, key: string) {
    const end = key.indexOf(' ');
    this.type = key.slice(0, end);
    this.name = key.slice(end + 1) || null;
    this.#counts = new HourCounts(clock, IN_FRONT + 1);
    this.#waits = new Spread(clock);
    this.#durations = new Spread(clock);
  }

  /** Names a row. */
  static key(type: string, name: string | null): string {
    return `${type} ${name ?? ''}`;
  }

  /** An operation has ended. */
  count({ calls, durationMs, outcome, saved, waitedMs }: OperationRecord): void {
    this.#counts.add(RUNS);
    this.#counts.add(CALLS, calls);
    this.#counts.add(SAVED, saved);
    if (outcome === 'partial' || outcome === 'failed') this.#counts.add(ERRORS);
    this.#waits.add(waitedMs);
    this.#durations.add(durationMs);
  }

  /** `runs` operations were answered on the fast path: they took no time, and nothing waited. */
  countInFront(runs: number, saved: number): void {
    this.#counts.add(RUNS, runs);
    this.#counts.add(IN_FRONT, runs);
    this.#counts.add(SAVED, saved);
  }

  merge(other: OperationRow): void {
    this.#counts.merge(other.#counts);
    this.#waits.merge(other.#waits);
    this.#durations.merge(other.#durations);
  }

  /** The hour in counts. */
  get cost(): Readonly<Record<'runs' | 'calls' | 'saved' | 'errors', number>> {
    const counts = this.#counts;
    return {
      runs: counts.sum(RUNS),
      calls: counts.sum(CALLS),
      saved: counts.sum(SAVED),
      errors: counts.sum(ERRORS),
    };
  }

  /** How long those waited and took that are among the slowest of the hour. */
  get p95(): { readonly waitP95Ms: number; readonly durationP95Ms: number } {
    const inFront = this.#counts.sum(IN_FRONT);
    return { waitP95Ms: this.#waits.p95(inFront), durationP95Ms: this.#durations.p95(inFront) };
  }
}
