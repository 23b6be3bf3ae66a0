import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { FairQueue } from '../scheduling/fair-queue.ts';
import { inNextTurn, loopTurns } from '../scheduling/loop-turns.ts';
import { SharedPool } from '../scheduling/shared-pool.ts';

/** Maximum work without a pause, in milliseconds, */
const BURST_MS = 100;
/** ... and the maximum share of the time for longer work. */
const SHARE = 0.5;
/** The minimum that a run counts, in milliseconds: callers with very short runs take turns too. */
const LEAST_MS = 0.1;
/** Maximum number of parallel first runs, because the size of their results is unknown. */
const FIRST_RUNS = 8;
/** A longer run, in milliseconds, waits for an upstream, and others start in parallel. */
const FIRST_RUN_MS = 1000;

/** A query to be run. */
export interface PacedRun {
  /** Its viewers, at least one; it uses the turn of the first. */
  readonly callers: () => Iterable<string>;
  /** Whether the size of its result is unknown. */
  readonly isFirst: () => boolean;
  /** Runs it. Never rejects. */
  readonly work: () => Promise<void> | void;
}

/**
 * Starts the runs of live queries one after another. A write can make many of them due at the same time: they use half
 * of the processor, and delay only requests of their own callers. The caller with the least recent execution time goes
 * first, so expensive queries of one caller delay those of others by at most one run.
 */
export class RunPace {
  readonly #clock: Clock;
  readonly #inTurn: (work: () => void) => void;
  readonly #queue = new FairQueue<PacedRun>();
  readonly #firstRuns = new SharedPool(FIRST_RUNS);
  #isBusy = false;
  /** Whether a run was added or has ended since the queue was checked. */
  #isWanted = false;
  /** Milliseconds of work that are allowed now; if negative, a pause is due. */
  #credit = BURST_MS;
  #creditAt: number;

  /** `inTurn` starts longer work, now or in a later turn of the event loop. */
  constructor(clock: Clock, inTurn = (work: () => void): void => loopTurns.run(work)) {
    this.#clock = clock;
    this.#inTurn = inTurn;
    this.#creditAt = clock.now();
  }

  /** Starts a run when its turn comes. Called again while it waits, it includes new viewers. */
  begin(run: PacedRun): void {
    this.#queue.add(run, run.callers());
    this.#next();
  }

  /** Cancels a run. */
  cancel(run: PacedRun): void {
    this.#queue.remove(run);
  }

  /** Resolves when there is time to send a result: runs that waited for the same read complete at the same time. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#inTurn(resolve);
    });
  }

  /** Runs a task of a run immediately. */
  do<T>({ callers }: Pick<PacedRun, 'callers'>, work: () => T): T {
    const since = this.#clock.now();
    const done = work();
    const now = this.#clock.now();
    this.#credit -= now - since;
    const charged = [...callers()];
    const ms = Math.max(LEAST_MS, now - since) / charged.length;
    for (const caller of charged) this.#queue.charge(caller, ms);
    return done;
  }

  #next(): void {
    this.#isWanted = true;
    if (this.#isBusy || this.#queue.size === 0) return;
    this.#isBusy = true;
    const begin = (): void =>
      this.#inTurn(() => {
        // A newer run may be first.
        this.#isWanted = false;
        const next = this.#queue.take((run, caller) => this.#mayBegin(run, caller));
        if (next) this.#start(next.entry, next.owner);
        inNextTurn(() => {
          this.#isBusy = false;
          if (next || this.#isWanted) this.#next();
        });
      });
    const restMs = this.#restMs;
    if (restMs > 0) this.#clock.after(restMs, begin);
    else begin();
  }

  #mayBegin(run: PacedRun, caller: string): boolean {
    return !run.isFirst() || this.#firstRuns.mayTake(caller);
  }

  #start(run: PacedRun, caller: string): void {
    const ended = run.isFirst() ? this.#beginFirst(caller) : null;
    const done = this.do(run, run.work);
    if (!ended) return;
    if (done) inBackground(done.finally(ended));
    else ended();
  }

  /** Counts a first run until the returned function is called, or for a limited time. */
  #beginFirst(caller: string): () => void {
    this.#firstRuns.add(caller, 1);
    let isCounted = true;
    const end = (): void => {
      cancel();
      if (!isCounted) return;
      isCounted = false;
      this.#firstRuns.add(caller, -1);
      this.#next();
    };
    const cancel = this.#clock.after(FIRST_RUN_MS, end);
    return end;
  }

  get #restMs(): number {
    const now = this.#clock.now();
    this.#credit = Math.min(BURST_MS, this.#credit + (now - this.#creditAt) * SHARE);
    this.#creditAt = now;
    return this.#credit >= 0 ? 0 : -this.#credit / SHARE;
  }
}
