import type { Clock } from '../../scheduling/clock.ts';
import type { QueueLane } from '../events.ts';

/** How long a step is, in milliseconds. */
const STEP_MS = 5000;
/** How many steps are remembered: fifteen minutes. */
const STEPS = 180;
/** Kinds of senders that are counted apart in the step under way. */
const SENDERS_COUNTED = 32;
/** Of them, those that are remembered. */
const SENDERS_REMEMBERED = 3;

/** Who asked for requests within a step. */
interface StepSender {
  readonly resource: string;
  /** `null` where they left for no operation with a name. */
  readonly operation: string | null;
  readonly sends: number;
}

/** Fifteen minutes as columns of equal length, the oldest step first; the last one is still under way. */
export interface StepColumns extends Readonly<Record<QueueLane, readonly number[]>> {
  readonly stepMs: number;
  /** When the last step began, in milliseconds since 1970. */
  readonly lastStepAt: number;
  /** Slots that other users of the key, and other processes, took. */
  readonly foreign: readonly number[];
  /** Requests that waited at most. */
  readonly queued: readonly number[];
  /** Requests that the upstream refused for its rate limit. */
  readonly refused: readonly number[];
  /** Of each step, who asked for most: at most 3, absent where nothing was sent. */
  readonly top: Readonly<Record<number, readonly StepSender[]>>;
}

type Counter = QueueLane | 'foreign' | 'refused';

/**
 * The requests to one upstream over fifteen minutes. Steps are counted on the clock that never goes back, so that
 * neither a wall clock that jumps nor an hour without any request leaves anything in the wrong column.
 */
export class SendSteps {
  readonly #columns: Readonly<Record<Counter | 'queued', Uint32Array>> = {
    write: new Uint32Array(STEPS),
    interactive: new Uint32Array(STEPS),
    refresh: new Uint32Array(STEPS),
    foreign: new Uint32Array(STEPS),
    refused: new Uint32Array(STEPS),
    queued: new Uint32Array(STEPS),
  };
  readonly #tops: (readonly StepSender[])[] = Array.from({ length: STEPS }, () => []);
  /** Of the step under way. */
  readonly #senders = new Map<
    string,
    { resource: string; operation: string | null; sends: number }
  >();
  /** The step under way, counted from the clock's start. */
  #step: number;
  /** How many wait now, and since when that is so, on `clock.now()`. */
  #waiting = 0;
  #waitingSince = 0;

  constructor(now: number) {
    this.#step = Math.floor(now / STEP_MS);
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
    if (Math.floor(at / STEP_MS) !== this.#step) return;
    const kind = `${resource} ${operation ?? ''}`;
    const sender = this.#senders.get(kind);
    if (sender) sender.sends += times;
    else if (this.#senders.size < SENDERS_COUNTED) {
      this.#senders.set(kind, { resource, operation, sends: times });
    }
  }

  /** Adds to a counter in the step of a moment. What is older than all steps has no column any more. */
  count(at: number, counter: Counter, times: number): void {
    this.#advance(at);
    const step = Math.floor(at / STEP_MS);
    if (this.#step - step < STEPS) (this.#columns[counter][step % STEPS] as number) += times;
  }

  /** From a moment on, one more request waits, or one less. */
  queue(at: number, change: 1 | -1): void {
    this.#advance(at);
    this.#waiting = Math.max(0, this.#waiting + change);
    this.#waitingSince = at;
  }

  /** The columns as they are now. */
  columns(clock: Clock): StepColumns {
    const now = clock.now();
    this.#advance(now);
    const first = (this.#step + 1) % STEPS;
    const inOrder = (name: Counter | 'queued'): number[] => {
      const column = this.#columns[name];
      return [...column.subarray(first), ...column.subarray(0, first)];
    };
    const top: Record<number, readonly StepSender[]> = {};
    for (let at = 0; at < STEPS; at += 1) {
      const senders = at === STEPS - 1 ? this.#top : (this.#tops[(first + at) % STEPS] ?? []);
      if (senders.length > 0) top[at] = senders;
    }
    return {
      stepMs: STEP_MS,
      lastStepAt: clock.wall() - (now - this.#step * STEP_MS),
      write: inOrder('write'),
      interactive: inOrder('interactive'),
      refresh: inOrder('refresh'),
      foreign: inOrder('foreign'),
      queued: inOrder('queued'),
      refused: inOrder('refused'),
      top,
    };
  }

  /** Who asked for most in the step under way. */
  get #top(): StepSender[] {
    return [...this.#senders.values()]
      .filter(({ sends }) => sends > 0)
      .sort((a, b) => b.sends - a.sends)
      .slice(0, SENDERS_REMEMBERED)
      .map((sender) => ({ ...sender }));
  }

  /** Begins the steps that have begun meanwhile. */
  #advance(now: number): void {
    const { queued } = this.#columns;
    const at = this.#step % STEPS;
    // What got its slot in the same moment did not wait.
    if (now > this.#waitingSince) queued[at] = Math.max(queued[at] ?? 0, this.#waiting);
    const step = Math.floor(now / STEP_MS);
    if (step <= this.#step) return;
    this.#tops[at] = this.#top;
    this.#senders.clear();
    for (let next = Math.max(this.#step + 1, step - STEPS + 1); next <= step; next += 1) {
      for (const column of Object.values(this.#columns)) column[next % STEPS] = 0;
      queued[next % STEPS] = this.#waiting;
      this.#tops[next % STEPS] = [];
    }
    this.#step = step;
  }
}
