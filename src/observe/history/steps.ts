import type { Clock } from '../../scheduling/clock.ts';

/** How long a step is, in milliseconds. */
export const STEP_MS = 5000;
/** How many steps are remembered: an hour. */
export const STEPS = 720;

/** Counters in steps of equal length, the oldest step first; the last one is still under way. */
export type Columns<Name extends string> = Readonly<Record<Name, readonly number[]>>;

/** Where the columns of a process stand in time. */
export interface StepTimes {
  readonly stepMs: number;
  /** The number of the last step: it grows by one with each. */
  readonly lastStep: number;
  /** When the last step began, in milliseconds since 1970. */
  readonly lastStepAt: number;
}

/**
 * Counters over an hour, in steps of five seconds, from the moment on from which anything is known. Steps are counted on
 * the clock that never goes back, so that neither a wall clock that jumps nor an hour without any event leaves anything
 * in the wrong column.
 */
export class StepCounts<Name extends string> {
  readonly #columns: Readonly<Record<Name, Uint32Array>>;
  readonly #names: readonly Name[];
  /** The step under way, and the first that is known, counted from the clock's start. */
  #step: number;
  #first: number;

  constructor(names: readonly Name[], now: number) {
    this.#names = names;
    const columns = names.map((name) => [name, new Uint32Array(STEPS)]);
    this.#columns = Object.fromEntries(columns) as Record<Name, Uint32Array>;
    this.#step = Math.floor(now / STEP_MS);
    this.#first = this.#step;
  }

  /** The step under way, counted from the clock's start. */
  get step(): number {
    return this.#step;
  }

  /** Adds to a counter in the step of a moment. What is older than all steps has no column any more. */
  add(at: number, name: Name, times: number): void {
    const step = Math.floor(at / STEP_MS);
    this.advance(at);
    if (this.#step - step >= STEPS) return;
    const column = this.#columns[name];
    const place = placeOf(step);
    column[place] = Math.max(0, (column[place] as number) + times);
  }

  /** Makes a counter of the step under way this large at least. */
  raise(name: Name, value: number): void {
    const column = this.#columns[name];
    const place = placeOf(this.#step);
    column[place] = Math.max(column[place] as number, value);
  }

  /** Begins the steps that have begun by a moment: `begin` is called in each. */
  advance(now: number, begin: () => void = () => {}): void {
    const step = Math.floor(now / STEP_MS);
    for (let next = Math.max(this.#step + 1, step - STEPS + 1); next <= step; next += 1) {
      this.#step = next;
      for (const name of this.#names) this.#columns[name][placeOf(next)] = 0;
      begin();
    }
  }

  /** How many steps are known. */
  get known(): number {
    return Math.min(STEPS, this.#step - this.#first + 1);
  }

  /** The known steps. */
  get columns(): Columns<Name> {
    const { known } = this;
    const entries = this.#names.map((name) => {
      const column = this.#columns[name];
      const counts: number[] = [];
      for (let step = this.#step - known + 1; step <= this.#step; step += 1) {
        counts.push(column[placeOf(step)] as number);
      }
      return [name, counts] as const;
    });
    return Object.fromEntries(entries) as Record<Name, number[]>;
  }

  /** Where the columns stand in time. */
  times(clock: Clock): StepTimes {
    const lastStepAt = Math.round(clock.wall() - (clock.now() - this.#step * STEP_MS));
    return { stepMs: STEP_MS, lastStep: this.#step, lastStepAt };
  }

  /** Takes in columns of the process before, of which the last step began at a moment that can be below 0. */
  restore(columns: Columns<Name>, lastStepAt: number): void {
    const last = Math.min(this.#first - 1, Math.floor(lastStepAt / STEP_MS));
    const { length } = columns[this.#names[0] as Name];
    const first = Math.max(last - length + 1, this.#step - STEPS + 1);
    if (first > last) return;
    this.#first = first;
    for (const name of this.#names) {
      for (let step = first; step <= last; step += 1) {
        this.#columns[name][placeOf(step)] = columns[name][length - 1 - (last - step)] ?? 0;
      }
    }
  }
}

/** The place of a step in its column. Steps before the clock's start have negative numbers. */
function placeOf(step: number): number {
  return ((step % STEPS) + STEPS) % STEPS;
}
