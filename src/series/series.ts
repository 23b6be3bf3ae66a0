import { jsonIn } from '../storage/json.ts';
import type { StepSize } from '../upstream/count-history.ts';

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

/** Steps in a row in which a value was observed: at least once in each of them, and it was the last one in each. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

/** The value of a count in one step, by its number. */
export interface TrackPoint {
  readonly step: number;
  readonly value: number | null;
  readonly observed: boolean;
}

/**
 * The values of one count in steps of one length, as runs of equal values. Complete runs are held as text, which
 * takes about 10 bytes each in memory and in the store: an array of numbers would take twice as much.
 */
class Track {
  /** Complete runs as text, the oldest first. */
  #complete = '';
  /** The last run, which can grow; `null` before the first value. */
  #last: { from: number; to: number; value: number } | null = null;
  /** Number of steps that are kept. */
  readonly #keep: number;
  /** Runs are removed once this is the first step that is kept, or a later one. */
  #trimFrom = 0;

  /** @param text of `text`, from a track of the same length. */
  constructor(keep: number, text = '') {
    this.#keep = keep;
    if (text === '') return;
    const at = text.lastIndexOf(';') + 1;
    this.#complete = text.slice(0, at);
    this.#last = runOf(text, at);
  }

  /** The latest step with a value; -1 before the first. */
  get latest(): number {
    return this.#last?.to ?? -1;
  }

  /** Characters of `text`, about. */
  get length(): number {
    return this.#complete.length + 12;
  }

  /** All runs as text: what the constructor takes. */
  get text(): string {
    return this.#last ? this.#complete + textOf(this.#last) : '';
  }

  /** Equal for equal points, as far as the current step is the same. */
  get state(): string {
    return `${this.#complete.length} ${this.#last ? textOf(this.#last) : ''}`;
  }

  /** Records the value in a step; returns whether a point has changed. A step before the latest is ignored. */
  observe(step: number, value: number): boolean {
    const last = this.#last;
    if (!last) {
      this.#last = { from: step, to: step, value };
      return true;
    }
    if (step < last.to || (step === last.to && value === last.value)) return false;
    if (step === last.to + 1 && value === last.value) {
      last.to = step;
    } else if (step === last.from) {
      last.value = value;
    } else {
      // Within a step, the later value counts.
      const to = Math.min(last.to, step - 1);
      this.#complete += `${textOf({ ...last, to })};`;
      this.#last = { from: step, to: step, value };
      this.#trim(step);
    }
    return true;
  }

  /** Removes everything after a step: the clock was set back, so those steps are still to come. */
  cut(step: number): void {
    const runs = this.#runs().filter(({ from }) => from <= step);
    const last = runs.pop();
    this.#complete = runs.map((run) => `${textOf(run)};`).join('');
    this.#last = last ? { ...last, to: Math.min(last.to, step) } : null;
  }

  /** The points of `count` steps up to a step, the oldest first. */
  points(end: number, count: number): TrackPoint[] {
    const runs = this.#runs();
    const points: TrackPoint[] = [];
    let next = 0;
    for (let step = end - count + 1; step <= end; step += 1) {
      while (next < runs.length && (runs[next] as Run).from <= step) next += 1;
      const run = runs[next - 1];
      points.push({
        step,
        value: run?.value ?? null,
        observed: run !== undefined && step <= run.to,
      });
    }
    return points;
  }

  #runs(): Run[] {
    const text = this.#complete;
    const runs: Run[] = [];
    for (let at = 0; at < text.length; at = text.indexOf(';', at) + 1) runs.push(runOf(text, at));
    return this.#last ? [...runs, this.#last] : runs;
  }

  /** Removes runs before the steps that are kept, except for the one whose value the first of them starts with. */
  #trim(step: number): void {
    // A regular expression also makes one piece of a text that was put together: it takes a fraction of the memory.
    let end = this.#complete.search(/;/) + 1;
    const first = step - this.#keep + 1;
    if (first < this.#trimFrom) return;
    let at = 0;
    for (;;) {
      const isLast = end === this.#complete.length;
      const next = isLast ? this.#last : runOf(this.#complete, end);
      this.#trimFrom = next?.from ?? 0;
      if (isLast || this.#trimFrom > first) break;
      at = end;
      end = this.#complete.indexOf(';', at) + 1;
    }
    if (at > 0) this.#complete = this.#complete.slice(at);
  }
}

/** As `from,further,value`, the first two in base 36. */
function textOf({ from, to, value }: Run): string {
  return `${from.toString(36)},${(to - from).toString(36)},${value}`;
}

/** The run at a position of a text. */
function runOf(text: string, at: number): Run {
  const further = text.indexOf(',', at) + 1;
  const value = text.indexOf(',', further) + 1;
  const end = text.indexOf(';', value);
  const from = Number.parseInt(text.slice(at, further - 1), 36);
  return {
    from,
    to: from + Number.parseInt(text.slice(further, value - 1), 36),
    value: Number(end < 0 ? text.slice(value) : text.slice(value, end)),
  };
}
