import { BoundedMap } from '../bounded-map.ts';
import { createDigest } from '../digest.ts';
import type { UpstreamName } from '../errors.ts';
import type { Resource } from '../resources.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Store } from '../store/store.ts';
import type {
  CountHistory,
  CountPoint,
  SeriesOf,
  SeriesOwner,
  StepSize,
  StepSpan,
} from '../upstream/count-history.ts';
import type { Count, CountName, KeyedRead, PageContents, Row, Stamp } from '../upstream/request.ts';
import { type DailyRead, DailyReads } from './daily-reads.ts';
import { ListRounds } from './list-rounds.ts';
import { HOUR_MS, type Series, stepSizes, type TrackPoint } from './series.ts';
import { SeriesStore } from './series-store.ts';

interface CountSeriesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Of the series in memory; in the store, they take less. */
  readonly maxBytes: number;
  /** The base URL of each API: the same key can be of another account elsewhere. */
  readonly baseUrls: Readonly<Record<UpstreamName, string>>;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** In the store, the day in which a list was last read completely for `HISTORY_WATCH`. */
const COMPLETE = { from: 'counts-read/', to: 'counts-read0' };
/** Names credentials in the store, equally in every process. A key cannot be derived from its name. */
const nameInStore = createDigest('the history of counts');
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
  #daily: DailyReads | null = null;
  /** By the key in the store. */
  readonly #complete = new Map<string, number>();
  #hasComplained = false;

  private constructor(options: CountSeriesOptions) {
    this.#options = options;
    this.#store = new SeriesStore(options.store, options.maxBytes);
  }

  /**
   * Makes the history of counts, with what earlier processes have recorded.
   * @throws StoreError
   */
  static async load(options: CountSeriesOptions): Promise<CountSeries> {
    const { complain, store } = options;
    const history = new CountSeries(options);
    const damaged = await history.#store.load(
      history.#hour - stepSizes.DAY.keep * stepSizes.DAY.hours,
    );
    if (damaged > 0) {
      complain(
        `${damaged} of the counts in the history of counts cannot be read: they begin again.`,
      );
    }
    for await (const [key, day] of store.read(COMPLETE)) {
      history.#complete.set(key, Number(day.toString()));
    }
    return history;
  }

  /** Reads lists once a day, if no client does. */
  watch(reads: readonly DailyRead[]): void {
    this.#daily = new DailyReads(this.#options.clock, reads, (of, resource, day) => {
      return this.#complete.get(this.#completeKey(of, resource)) === day;
    });
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
      this.#store.remove(owner, count.name, read.about ?? 0);
    } else if (count) {
      this.#observe(owner, ofOne(count, value), [{ id: read.about ?? 0 }], storedAt);
      this.#received(of, { resource: read.resource, number: 1, isLast: true });
    }
  }

  #pageStored(owner: string, contents: PageContents, askedAt: number): void {
    const { count, isWhole, resource, rows, total } = contents;
    if (isWhole && total !== null) {
      this.#observe(owner, lengthOf(resource), [{ id: 0, value: total }], askedAt);
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
    const key = this.#completeKey(of, resource);
    const day = Math.floor(this.#hour / stepSizes.DAY.hours);
    this.#complete.set(key, day);
    this.#options.store.put(key, String(day));
  }

  #completeKey(of: SeriesOwner, resource: Resource): string {
    return `${COMPLETE.from}${this.#nameOf(of)}/${resource}`;
  }

  deleted(of: SeriesOwner, { count, id }: SeriesOf, certain: boolean): void {
    const owner = this.#nameOf(of);
    // With a creation time, the next response shows whether the row is still there.
    if (certain || this.#store.find(owner, count, id)?.origin === null) {
      this.#store.remove(owner, count, id);
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
    this.#store.cutAfter(now);
    const hour = Math.floor((wall - (clock.now() - askedAt)) / HOUR_MS);
    this.#store.observe(owner, count, rows, { hour, askedAt });
    if (this.#store.refused > 0 && !this.#hasComplained) this.#complain();
  }

  #complain(): void {
    this.#hasComplained = true;
    this.#options.complain(
      `The history of counts is full with ${this.#store.size} counts. Further counts have no history as long as all of these are in use.`,
    );
  }

  /** Removes the series of rows that were on no page since a time, unless a creation time identifies the row. */
  #removeAbsent(owner: string, count: CountName, since: number): void {
    for (const [id, { askedAt, origin }] of this.#store.of(owner, count)) {
      if (askedAt < since && origin === null) this.#store.remove(owner, count, id);
    }
  }

  #nameOf({ credential: { partition, secret }, upstream }: SeriesOwner): string {
    const key = `${upstream} ${partition}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      const account = `${upstream} ${this.#options.baseUrls[upstream]} ${secret}`;
      name = nameInStore(account).slice(0, NAME_LENGTH);
      this.#names.set(key, name);
    }
    return name;
  }
}

/** Keys of the cache begin with the upstream. */
function upstreamOf(key: string): UpstreamName {
  return key.startsWith('LINKS:') ? 'LINKS' : 'MARKET';
}

/** The length of a list, as the count of a row. */
function lengthOf(resource: Resource): Count<Row & { readonly value: number }> {
  return { name: `total:${resource}`, value: ({ value }) => value, origin: () => null };
}

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
