import type { Clock } from '../scheduling/clock.ts';
import { OTHERS_MS, type WatchedReads } from './watched-reads.ts';

/** The result of a run. */
export interface RunResult {
  /** A result as it is sent. */
  readonly document: { readonly data: unknown; readonly errors?: readonly object[] };
  /** Its cost, as `extensions.upstream`. */
  readonly upstream: object;
  /**
   * Present if a retry after this time can succeed, in milliseconds: an upstream or its budget was not available.
   */
  readonly retryAfterMs?: number;
  /** Present if no retry can succeed: its key was rejected. */
  readonly refused?: true;
}

/** The inputs of a run. */
interface RunTerms {
  /** Whether viewers have no older result while it runs. */
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
}

/** Runs a query once; its reads go through `reads`. Never rejects. */
export type LiveRun = (reads: WatchedReads, terms: RunTerms) => Promise<RunResult>;

/** A run with errors is repeated after this many milliseconds, doubled for each failure in a row. */
const FIRST_RETRY_MS = 2000;
const LONGEST_RETRY_MS = 60_000;

/** Repeats a query although none of its entries has changed: after errors, and if something else has changed. */
export class RunAgain {
  readonly #clock: Clock;
  readonly #again: () => void;
  #failures = 0;
  #cancelRetry = (): void => {};
  /** Whether the next run is needed only because of something that is no entry. */
  #isForOthers = false;
  /** When these are compared next, on `clock.now()`. */
  #othersFrom = 0;

  /** `again` requests a run. */
  constructor(clock: Clock, again: () => void) {
    this.#clock = clock;
    this.#again = again;
  }

  /** A run starts, or there will be none. */
  cancel(): void {
    this.#cancelRetry();
  }

  /** Requests a run if it is time to compare what is no entry, and `haveChanged` returns true. */
  forOthers(haveChanged: () => boolean): void {
    if (this.#clock.now() < this.#othersFrom || !haveChanged()) return;
    this.#isForOthers = true;
    this.#again();
  }

  /** Records the result of a run. */
  after({ document, retryAfterMs, upstream }: RunResult): void {
    const { calls = 0 } = upstream as { readonly calls?: number };
    // The upstream requests of a run for a budget change that budget: they must not cause the next run.
    const mayRepeat = !document.errors && !(this.#isForOthers && calls > 0);
    this.#othersFrom = this.#clock.now() + (mayRepeat ? OTHERS_MS : LONGEST_RETRY_MS);
    this.#isForOthers = false;
    if (retryAfterMs === undefined) {
      this.#failures = 0;
      return;
    }
    const backOffMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#cancelRetry = this.#clock.after(Math.max(backOffMs, retryAfterMs), this.#again);
  }
}
