import { jsonIn } from '../storage/json.ts';
import type { StepSize } from '../upstream/count-history.ts';
import { Track } from './track.ts';

/** An hour, in milliseconds. */
export const HOUR_MS = 3_600_000;
/** Hours of a day: a step of a day begins with one of them. */
const DAY_HOURS = 24;

/** The length of a step in hours, and how many steps are kept. */
export const stepSizes: Readonly<
  Record<StepSize, { readonly hours: number; readonly keep: number }>
> = { HOUR: { hours: 1, keep: 720 }, DAY: { hours: DAY_HOURS, keep: 400 } };

/** Memory that a series takes besides its texts, in bytes, by measurement. */
const SERIES_BYTES = 400;

/** The values of one count over time, in hours and in days. */
export class Series {
  /** See `Count.origin`. */
  readonly origin: string | null;
  readonly #hours: Track;
  readonly #days: Track;
  /** When the response with the latest value was requested, on `clock.now()`. */
  askedAt = Number.NEGATIVE_INFINITY;
  /** The hour in which it was last observed or read: those not used for the longest are removed first. */
  usedIn: number;

  constructor(origin: string | null, hours = '', days = '') {
    this.origin = origin;
    this.#hours = new Track(stepSizes.HOUR.keep, hours);
    this.#days = new Track(stepSizes.DAY.keep, days);
    this.usedIn = this.latest;
  }

  /** Reads what `text` returned; `null` for anything else. Never throws. */
  static read(text: string): Series | null {
    const members = jsonIn(text);
    if (!Array.isArray(members) || members.length !== 3) return null;
    const [origin, hours, days] = members as unknown[];
    if (origin !== null && typeof origin !== 'string') return null;
    return typeof hours === 'string' && typeof days === 'string'
      ? new Series(origin, hours, days)
      : null;
  }

  /** Its approximate memory, in bytes. */
  get bytes(): number {
    return SERIES_BYTES + this.#hours.length + this.#days.length + (this.origin?.length ?? 0);
  }

  /** The latest hour with a value; -1 if there is none. */
  get latest(): number {
    return this.#hours.latest;
  }

  /** All that a process needs to continue it. */
  get text(): string {
    return JSON.stringify([this.origin, this.#hours.text, this.#days.text]);
  }

  /** Records the value in an hour; returns by how many bytes it has grown, or `null` if no point has changed. */
  observe(hour: number, value: number): number | null {
    const before = this.#hours.length + this.#days.length;
    if (!this.#hours.observe(hour, value)) return null;
    this.#days.observe(Math.floor(hour / DAY_HOURS), value);
    return this.#hours.length + this.#days.length - before;
  }

  /** Removes what was recorded after an hour. */
  cut(hour: number): void {
    this.#hours.cut(hour);
    this.#days.cut(Math.floor(hour / DAY_HOURS));
  }

  /** Its values by steps of one size. */
  track(step: StepSize): Track {
    return step === 'HOUR' ? this.#hours : this.#days;
  }
}
