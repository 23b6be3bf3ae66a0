import type { UpstreamName } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { SEND_COUNTERS, SendSteps, type StepColumns } from './send-steps.ts';
import { type Columns, STEP_MS, STEPS, StepCounts, type StepTimes } from './steps.ts';

/** Maximum number of remembered starts. */
const MOST_STARTS = 20;

/** Operations that ended, and those of them that failed, see `Recent`. */
const OPERATION_COUNTERS = ['ended', 'failed'] as const;

/** Operations as columns. */
export interface OperationColumns extends StepTimes, Columns<(typeof OPERATION_COUNTERS)[number]> {}

/** A start of the gateway. Moments are milliseconds since 1970. */
export interface Start {
  readonly at: number;
  readonly version: string;
  /** When the previous process was last known to run; `null` if none is known. */
  readonly downSince: number | null;
}

/** Operations before the latest start and since then, within the last hour. */
export interface StartCompared {
  readonly version: string;
  readonly at: number;
  readonly before: { readonly ended: number; readonly failed: number };
  readonly since: { readonly ended: number; readonly failed: number };
}

/** The saved form of an hour of steps. */
export interface SavedPast {
  /** When it was written, and when its last step began, in milliseconds since 1970. */
  readonly at: number;
  readonly lastStepAt: number;
  readonly starts: readonly Start[];
  readonly sends: Readonly<Record<UpstreamName, Columns<(typeof SEND_COUNTERS)[number]>>>;
  readonly operations: Columns<(typeof OPERATION_COUNTERS)[number]>;
}

/** The last hour in steps of five seconds, and the starts of the gateway in it. */
export class Past {
  readonly #clock: Clock;
  readonly sends: Readonly<Record<UpstreamName, SendSteps>>;
  readonly operations: StepCounts<(typeof OPERATION_COUNTERS)[number]>;
  /** Moments are on `clock.now()`, which can be below 0. */
  #starts: Start[] = [];
  /** When the process before was last heard of, on `clock.now()`. */
  #heardOfAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    const now = clock.now();
    this.sends = { LINKS: new SendSteps(now), MARKET: new SendSteps(now) };
    this.operations = new StepCounts(OPERATION_COUNTERS, now);
  }

  /** The gateway has started with a version. */
  started(version: string): void {
    this.#starts.push({ at: this.#clock.now(), version, downSince: this.#heardOfAt });
    if (this.#starts.length > MOST_STARTS) this.#starts.shift();
  }

  /** The requests to one upstream. */
  sendsOf(upstream: UpstreamName): StepColumns {
    return this.sends[upstream].columns(this.#clock);
  }

  /** All operations. */
  get operationColumns(): OperationColumns {
    this.operations.advance(this.#clock.now());
    return { ...this.operations.times(this.#clock), ...this.operations.columns };
  }

  /** The starts of the last hour, the latest last. */
  get starts(): Start[] {
    const { now, toWall } = this.#times;
    return this.#starts
      .filter(({ at }) => now - at <= STEPS * STEP_MS)
      .map(({ at, downSince, version }) => ({
        version,
        at: toWall(at),
        downSince: downSince === null ? null : toWall(downSince),
      }));
  }

  /** Failures before and after the latest start; `null` if the time before it is unknown. */
  get lastStart(): StartCompared | null {
    const { now, toWall } = this.#times;
    const start = this.#starts.at(-1);
    this.operations.advance(now);
    const { columns, step } = this.operations;
    if (!start) return null;
    const since = Math.min(columns.ended.length, step - Math.floor(start.at / STEP_MS) + 1);
    const cut = columns.ended.length - since;
    if (cut <= 0) return null;
    return {
      version: start.version,
      at: toWall(start.at),
      before: {
        ended: sum(columns.ended.slice(0, cut)),
        failed: sum(columns.failed.slice(0, cut)),
      },
      since: { ended: sum(columns.ended.slice(cut)), failed: sum(columns.failed.slice(cut)) },
    };
  }

  /** All data, to be saved. */
  get saved(): SavedPast {
    const { ended, failed, lastStepAt } = this.operationColumns;
    const sends = (upstream: UpstreamName): SavedPast['sends'][UpstreamName] => {
      const { bulk, foreign, interactive, queued, refresh, refused, write, ...rest } =
        this.sendsOf(upstream);
      return { write, interactive, refresh, bulk, foreign, refused, failed: rest.failed, queued };
    };
    return {
      at: this.#clock.wall(),
      lastStepAt,
      starts: this.starts,
      sends: { LINKS: sends('LINKS'), MARKET: sends('MARKET') },
      operations: { ended, failed },
    };
  }

  /** Loads the data saved by the previous process. Must be called first. */
  restore({ at, lastStepAt, operations, sends, starts }: SavedPast): void {
    const { now, wall } = this.#times;
    // A wall clock that was set back: then no time has passed between the two.
    const here = now - Math.max(0, wall - at) - at;
    this.#heardOfAt = at + here;
    this.#starts = starts.map(({ downSince, version, ...start }) => ({
      version,
      at: start.at + here,
      downSince: downSince === null ? null : downSince + here,
    }));
    for (const upstream of ['LINKS', 'MARKET'] as const) {
      this.sends[upstream].restore(sends[upstream], lastStepAt + here);
    }
    this.operations.restore(operations, lastStepAt + here);
  }

  get #times(): { now: number; wall: number; toWall: (moment: number) => number } {
    const now = this.#clock.now();
    const wall = this.#clock.wall();
    return { now, wall, toWall: (moment) => Math.round(wall - (now - moment)) };
  }
}

/** The columns that are written down, by name. */
export const savedCounters = { sends: SEND_COUNTERS, operations: OPERATION_COUNTERS } as const;

function sum(counts: readonly number[]): number {
  return counts.reduce((all, each) => all + each, 0);
}
