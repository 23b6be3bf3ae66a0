import type { Clock } from '../../scheduling/clock.ts';
import type { QueueLane } from '../events.ts';
import { type Columns, STEP_MS, StepCounts, type StepTimes } from './steps.ts';

/** Steps whose senders are remembered: fifteen minutes. */
const STEPS_WITH_SENDERS = 180;
/** Maximum number of separately counted senders in the current step. */
const SENDERS_COUNTED = 32;
/** Maximum number of remembered senders per step. */
const SENDERS_REMEMBERED = 3;

/** The sender of requests within a step. */
interface StepSender {
  readonly resource: string;
  /** `null` for requests without a named operation. */
  readonly operation: string | null;
  readonly sends: number;
}

/**
 * What is counted of the requests to one upstream: by lane, those of other processes and users of the key, those that the
 * upstream refused for its rate limit, those that failed, and how many waited at most.
 */
export const SEND_COUNTERS = [
  'write',
  'interactive',
  'refresh',
  'bulk',
  'foreign',
  'refused',
  'failed',
  'queued',
] as const;
type Counter = (typeof SEND_COUNTERS)[number];

/** The requests to one upstream as columns. */
export interface StepColumns extends StepTimes, Columns<Counter> {
  /** The top senders of each step of the last fifteen minutes: at most 3; absent if no request was sent. */
  readonly top: Readonly<Record<number, readonly StepSender[]>>;
}

/** The requests to one upstream over the last hour. */
export class SendSteps {
  readonly #steps: StepCounts<Counter>;
  /** By the steps, counted from the clock's start. */
  readonly #tops = new Map<number, readonly StepSender[]>();
  /** The senders of the current step. */
  readonly #senders = new Map<
    string,
    { resource: string; operation: string | null; sends: number }
  >();
  /** Number of waiting requests, and when it last changed, on `clock.now()`. */
  #waiting = 0;
  #waitingSince = 0;

  constructor(now: number) {
    this.#steps = new StepCounts(SEND_COUNTERS, now);
  }

  /** A request leaves at a moment; `times` is -1 for one that was counted then and has not left after all. */
  sent(
    at: number,
    {
      lane,
      operation,
      resource,
      times,
    }: Omit<StepSender, 'sends'> & {
      readonly lane: QueueLane;
      readonly times: 1 | -1;
    },
  ): void {
    this.count(at, lane, times);
    if (Math.floor(at / STEP_MS) !== this.#steps.step) return;
    const kind = `${resource} ${operation ?? ''}`;
    const sender = this.#senders.get(kind);
    if (sender) sender.sends += times;
    else if (this.#senders.size < SENDERS_COUNTED) {
      this.#senders.set(kind, { resource, operation, sends: times });
    }
  }

  /** Adds to a counter in the step of a moment. */
  count(at: number, counter: Exclude<Counter, 'queued'>, times: number): void {
    this.#advance(at);
    this.#steps.add(at, counter, times);
  }

  /** One more or one less request waits from a given time on. */
  queue(at: number, change: 1 | -1): void {
    this.#advance(at);
    this.#waiting = Math.max(0, this.#waiting + change);
    this.#waitingSince = at;
  }

  /** The columns as they are now. */
  columns(clock: Clock): StepColumns {
    this.#advance(clock.now());
    const { columns, known, step } = this.#steps;
    const first = step - known + 1;
    const tops = [...this.#tops].map(([at, senders]) => [at - first, senders] as const);
    const top: StepColumns['top'] = Object.fromEntries(
      [...tops, [known - 1, this.#top] as const].filter(([, senders]) => senders.length > 0),
    );
    return { ...this.#steps.times(clock), ...columns, top };
  }

  /** Takes in the columns of the process before, see `StepCounts.restore`. */
  restore(columns: Columns<Counter>, lastStepAt: number): void {
    this.#steps.restore(columns, lastStepAt);
  }

  /** The top senders of the current step. */
  get #top(): StepSender[] {
    return [...this.#senders.values()]
      .filter(({ sends }) => sends > 0)
      .sort((a, b) => b.sends - a.sends)
      .slice(0, SENDERS_REMEMBERED)
      .map((sender) => ({ ...sender }));
  }

  /** Starts the steps that have begun since. */
  #advance(now: number): void {
    // A request that got its slot at the same time did not wait.
    if (now > this.#waitingSince) this.#steps.raise('queued', this.#waiting);
    const before = this.#steps.step;
    this.#steps.advance(now, () => this.#steps.raise('queued', this.#waiting));
    const { step } = this.#steps;
    if (step === before) return;
    const top = this.#top;
    if (top.length > 0) this.#tops.set(before, top);
    this.#senders.clear();
    for (const at of this.#tops.keys()) {
      if (step - at >= STEPS_WITH_SENDERS) this.#tops.delete(at);
    }
  }
}
