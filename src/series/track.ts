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
 * takes about 10 bytes each in memory and in the file: an array of numbers would take twice as much.
 */
export class Track {
  /** Complete runs as text, the oldest first. */
  #complete = '';
  /** The last run, which can grow; `null` before the first value. */
  #last: { from: number; to: number; value: number } | null = null;
  /** Number of steps that are kept. */
  readonly #keep: number;

  /** @param text of `text`, from a track of the same length. */
  constructor(keep: number, text = '') {
    this.#keep = keep;
    if (text === '') return;
    const at = text.lastIndexOf(';') + 1;
    this.#complete = text.slice(0, at);
    this.#last = runOf(text.slice(at));
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
    const runs = this.#complete.split(';').slice(0, -1).map(runOf);
    return this.#last ? [...runs, this.#last] : runs;
  }

  /** Removes runs before the steps that are kept, except for the one whose value the first of them starts with. */
  #trim(step: number): void {
    const first = step - this.#keep + 1;
    let at = 0;
    for (;;) {
      const end = this.#complete.indexOf(';', at) + 1;
      const next = end === this.#complete.length ? this.#last : runOf(this.#complete.slice(end));
      if (end === 0 || !next || next.from > first) break;
      at = end;
    }
    // A text that is made of pieces takes several times its length.
    if (at > 0) this.#complete = this.#complete.slice(at);
  }
}

/** As `from,further,value`, the first two in base 36. */
function textOf({ from, to, value }: Run): string {
  return `${from.toString(36)},${(to - from).toString(36)},${value}`;
}

/** The run at the beginning of a text. */
function runOf(text: string): Run {
  const [from = '', further = '', value = ''] = text.split(';', 1)[0]?.split(',') ?? [];
  const start = Number.parseInt(from, 36);
  return { from: start, to: start + Number.parseInt(further, 36), value: Number(value) };
}
