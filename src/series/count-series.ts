import { BoundedMap } from '../bounded-map.ts';
import { createDigest } from '../digest.ts';
import type { UpstreamName } from '../errors.ts';
import type { Resource } from '../resources.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { KeyedRead } from '../upstream/cache/key.ts';
import type {
  CountHistory,
  CountPoint,
  SeriesOf,
  SeriesOwner,
  StepSize,
  StepSpan,
} from '../upstream/count-history.ts';
import type { Count, CountName, PageContents, Row, Stamp } from '../upstream/request.ts';
import type { DailyReads } from './daily-reads.ts';
import { ListRounds } from './list-rounds.ts';
import { HOUR_MS, Series, stepSizes } from './series.ts';
import { observedLine, type SeriesLine, textOfLine } from './series-lines.ts';
import { SeriesStore } from './series-store.ts';
import type { TrackPoint } from './track.ts';

interface CountSeriesOptions {
  readonly clock: Clock;
  /** Of the file; 0 if nothing is recorded. */
  readonly maxBytes: number;
  /** The base URL of each API: the same key can be of another account elsewhere. */
  readonly baseUrls: Readonly<Record<UpstreamName, string>>;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** Where what is recorded is saved. */
export interface SeriesLog {
  /** Adds a line. Never throws. */
  append(line: string): void;
}

/** Names credentials in the file, equally in every process. A key cannot be derived from its name. */
const nameInFile = createDigest('the history of counts');
/** Characters of a name: enough to distinguish all credentials there ever are. */
const NAME_LENGTH = 22;
/** Credentials whose names are remembered. */
const NAMES_REMEMBERED = 2000;

/** Records counts from responses that the cache takes, and returns them as points. Costs no upstream request. */
export class CountSeries implements CountHistory {
  readonly #options: CountSeriesOptions;
  readonly #names = new BoundedMap<string>({ max: NAMES_REMEMBERED });
  readonly #rounds = new ListRounds();
  readonly #store: SeriesStore;
  #log: SeriesLog | null = null;
  #daily: DailyReads | null = null;
  /** The day in which each list was last read completely for `HISTORY_WATCH`. */
  readonly #complete = new Map<string, number>();
  #hasComplained = false;

  constructor(options: CountSeriesOptions) {
    this.#options = options;
    // The lines in the file take as much again.
    this.#store = new SeriesStore(options.maxBytes / 2);
  }

  /** Saves what is recorded from now on. */
  saveIn(log: SeriesLog): void {
    this.#log = log;
  }

  /** Reports received pages to the daily reads. */
  watchWith(daily: DailyReads): void {
    this.#daily = daily;
  }

  /** Whether a list was read completely on a day for `HISTORY_WATCH`. */
  isComplete(of: SeriesOwner, resource: Resource, day: number): boolean {
    return this.#complete.get(`${this.#nameOf(of)} ${resource}`) === day;
  }

  /** All series as lines for a file, without those whose last value is too old. */
  *snapshot(): Generator<string> {
    for (const [list, day] of this.#complete) yield textOfLine(['l', list, day]);
    const oldest = this.#hour - stepSizes.DAY.keep * stepSizes.DAY.hours;
    for (const { count, id, owner, series } of this.#store.all()) {
      if (series.latest < oldest) this.#store.remove(owner, count, id);
      else yield textOfLine(['s', owner, count, id, series.texts]);
    }
  }

  /** Repeats what a line of a file says. */
  apply(line: SeriesLine): void {
    const [kind] = line;
    if (kind === 's') {
      const [, owner, count, id, texts] = line;
      this.#store.restore(owner, count, id, new Series(texts));
    } else if (kind === 'o') {
      const [, owner, name, hour, values, origins] = line;
      for (let at = 0; at < origins.length; at += 2) {
        const begun = Series.empty(origins[at + 1] as string | null);
        this.#store.restore(owner, name, origins[at] as number, begun);
      }
      const count = { ...saved, name };
      const rows: SavedRow[] = [];
      for (let at = 0; at < values.length; at += 2) {
        rows.push({ id: values[at] as number, value: values[at + 1] as number });
      }
      this.#store.observe(owner, count, rows, { hour, askedAt: Number.NEGATIVE_INFINITY });
    } else if (kind === 'd') {
      const [, owner, count, id] = line;
      this.#store.remove(owner, count, id);
    } else if (kind === 'l') {
      this.#complete.set(line[1], line[2]);
    } else this.#store.cutAfter(line[1]);
  }

  stored({ credential, key, read }: KeyedRead, value: unknown, { storedAt }: Stamp): void {
    const { count, page } = read;
    const contents = page?.contents(value);
    if (!count && !contents) return;
    const of = { upstream: upstreamOf(key), credential };
    const owner = this.#nameOf(of);
    if (contents) {
      this.#pageStored(owner, contents, storedAt);
      if (contents.isWhole) this.#received(of, contents);
    } else if (count && value === null) {
      this.#remove(owner, count.name, read.about ?? 0);
    } else if (count) {
      this.#observe(owner, ofOne(count, value), [{ id: read.about ?? 0 }], storedAt);
      this.#received(of, { resource: read.resource, number: 1, isLast: true });
    }
  }

  #pageStored(owner: string, contents: PageContents, askedAt: number): void {
    const { count, isWhole, resource, rows, total } = contents;
    if (isWhole && total !== null) {
      const length = { ...saved, name: `total:${resource}` } as const;
      this.#observe(owner, length, [{ id: 0, value: total }], askedAt);
    }
    if (!count) return;
    this.#observe(owner, count, rows, askedAt);
    const since = isWhole ? this.#rounds.seen(owner, { contents, askedAt }) : null;
    if (since !== null) this.#removeAbsent(owner, count.name, since);
  }

  /** Reports a page to the daily reads. A completed list is saved, so that the next process does not read it again. */
  #received(
    of: SeriesOwner,
    { isLast, number, resource }: Pick<PageContents, 'isLast' | 'number' | 'resource'>,
  ): void {
    if (!this.#daily?.received(of, resource, number, isLast)) return;
    const list = `${this.#nameOf(of)} ${resource}`;
    const day = Math.floor(this.#hour / stepSizes.DAY.hours);
    this.#complete.set(list, day);
    this.#log?.append(textOfLine(['l', list, day]));
  }

  deleted(of: SeriesOwner, { count, id }: SeriesOf, certain: boolean): void {
    const owner = this.#nameOf(of);
    // With a creation time, the next response shows whether the row is still there.
    if (certain || this.#store.find(owner, count, id)?.origin === null) {
      this.#remove(owner, count, id);
    }
  }

  points(of: SeriesOwner, wanted: SeriesOf, { last, step }: StepSpan): CountPoint[] {
    const series = this.#find(of, wanted);
    const { hours } = stepSizes[step];
    const hour = this.#hour;
    const end = Math.floor(hour / hours);
    if (series) series.usedIn = Math.max(series.usedIn, hour);
    const points = series?.track(step).points(end, last) ?? nothing(end, last);
    return points.map(({ observed, step: number, value }) => {
      return { at: number * hours * HOUR_MS, value, observed };
    });
  }

  state(of: SeriesOwner, wanted: SeriesOf, step: StepSize): string {
    const end = Math.floor(this.#hour / stepSizes[step].hours);
    return `${end} ${this.#find(of, wanted)?.track(step).state}`;
  }

  changesAt(step: StepSize): number {
    const { clock } = this.#options;
    const stepMs = stepSizes[step].hours * HOUR_MS;
    return clock.now() + stepMs - (clock.wall() % stepMs);
  }

  /** The current hour, counted from the epoch. */
  get #hour(): number {
    return Math.floor(this.#options.clock.wall() / HOUR_MS);
  }

  #find(of: SeriesOwner, { count, id, origin }: SeriesOf): Series | undefined {
    const series = this.#store.find(this.#nameOf(of), count, id);
    const isOfAnother = origin && series?.origin && series.origin !== origin;
    return isOfAnother ? undefined : series;
  }

  #observe<R extends Row>(
    owner: string,
    count: Count<R>,
    rows: readonly R[],
    askedAt: number,
  ): void {
    const { clock } = this.#options;
    const wall = clock.wall();
    const now = Math.floor(wall / HOUR_MS);
    if (this.#store.cutAfter(now)) this.#log?.append(textOfLine(['c', now]));
    const hour = Math.floor((wall - (clock.now() - askedAt)) / HOUR_MS);
    const changes = this.#store.observe(owner, count, rows, { hour, askedAt });
    if (changes.length > 0) this.#log?.append(observedLine(owner, count.name, hour, changes));
    if (this.#store.refused > 0 && !this.#hasComplained) this.#complain();
  }

  #complain(): void {
    this.#hasComplained = true;
    const { series } = this.#store.weight;
    this.#options.complain(
      `The history of counts is full with ${series} counts. Further counts have no history as long as all of these are in use.`,
    );
  }

  #remove(owner: string, count: CountName, id: number): void {
    if (this.#store.remove(owner, count, id)) {
      this.#log?.append(textOfLine(['d', owner, count, id]));
    }
  }

  /** Removes the series of rows that were on no page since a time, unless a creation time identifies the row. */
  #removeAbsent(owner: string, count: CountName, since: number): void {
    for (const [id, { askedAt, origin }] of this.#store.of(owner, count)) {
      if (askedAt < since && origin === null) this.#remove(owner, count, id);
    }
  }

  #nameOf({ credential: { partition, secret }, upstream }: SeriesOwner): string {
    const key = `${upstream} ${partition}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      const account = `${upstream} ${this.#options.baseUrls[upstream]} ${secret}`;
      name = nameInFile(account).slice(0, NAME_LENGTH);
      this.#names.set(key, name);
    }
    return name;
  }
}

/** Keys of the cache begin with the upstream. */
function upstreamOf(key: string): UpstreamName {
  return key.startsWith('LINKS:') ? 'LINKS' : 'MARKET';
}

/** A row of which only the value is known. */
interface SavedRow extends Row {
  readonly value: number;
}

const saved = { value: ({ value }: SavedRow) => value, origin: () => null };

/** The count of the only row of a response. */
function ofOne<R>(count: Count<R>, row: R): Count<Row> {
  return { name: count.name, value: () => count.value(row), origin: () => count.origin(row) };
}

/** The points of a count of which nothing is known. */
function nothing(end: number, count: number): TrackPoint[] {
  return Array.from({ length: count }, (_, at) => {
    return { step: end - count + 1 + at, value: null, observed: false };
  });
}
