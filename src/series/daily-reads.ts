import type { Resource } from '../resources.ts';
import type { Clock } from '../scheduling/clock.ts';
import { inNextTurn } from '../scheduling/loop-turns.ts';
import type { SeriesOwner } from '../upstream/count-history.ts';
import { HOUR_MS } from './series.ts';

const DAY_MS = 24 * HOUR_MS;
/** The hour in UTC from which on pages are read that no client has read on the day: most days, few are left. */
const FROM_HOUR = 18;
/** How often it is checked whether a page is missing, in milliseconds: a read can fail, or wait for the budget. */
const LOOK_MS = 60_000;
/** After this many failures in a row, nothing more is read of a list on that day. */
const MOST_TRIES = 5;

/** A list, or a single object, to be read once a day. */
export interface DailyRead {
  readonly resource: Resource;
  /** The credential to read it with, which can be replaced. */
  owner(): SeriesOwner;
  /**
   * Requests a page in the background, once no other request waits and slots are left. Returns false if it may not be
   * requested now, or was. Costs at most 1 upstream request.
   */
  request(page: number): boolean;
}

/** A daily read, and the pages that were received on a day. */
interface WatchedCounts {
  readonly read: DailyRead;
  day: number;
  readonly pages: Set<number>;
  lastPage: number | null;
  partition: string;
  /** Requests since the last page that was received. */
  tries: number;
}

/**
 * Reads the lists of `HISTORY_WATCH` once a day: in its last hours, and only pages that were not received on that day
 * anyway. One page at a time waits, behind all other requests.
 */
export class DailyReads {
  readonly #clock: Clock;
  readonly #watched: readonly WatchedCounts[];
  readonly #isDone: (of: SeriesOwner, resource: Resource, day: number) => boolean;

  /** @param isDone whether a list was read completely on a day, according to an earlier process. */
  constructor(
    clock: Clock,
    reads: readonly DailyRead[],
    isDone: (of: SeriesOwner, resource: Resource, day: number) => boolean,
  ) {
    this.#clock = clock;
    this.#isDone = isDone;
    this.#watched = reads.map((read) => {
      return { read, day: -1, pages: new Set<number>(), lastPage: null, partition: '', tries: 0 };
    });
    if (reads.length > 0) this.#lookLater();
  }

  /** A page was received. Returns whether it completes the list on this day. */
  received(of: SeriesOwner, resource: Resource, page: number, isLast: boolean): boolean {
    const watched = this.#watched.find(({ read }) => read.resource === resource);
    if (!watched) return false;
    this.#begin(watched);
    if (of.credential.partition !== watched.partition) return false;
    const { pages } = watched;
    const wasComplete = isComplete(watched);
    pages.add(page);
    watched.tries = 0;
    if (isLast) watched.lastPage = page;
    inNextTurn(() => this.#look(watched));
    return !wasComplete && isComplete(watched);
  }

  #lookLater(): void {
    const toStartMs = FROM_HOUR * HOUR_MS - (this.#clock.wall() % DAY_MS);
    const isIdle = this.#watched.every((watched) => isComplete(watched));
    // The wall clock can be set while a timer runs.
    const ms = toStartMs > 0 ? Math.min(toStartMs, HOUR_MS) : isIdle ? HOUR_MS : LOOK_MS;
    this.#clock.after(ms, () => {
      for (const watched of this.#watched) this.#look(watched);
      this.#lookLater();
    });
  }

  #look(watched: WatchedCounts): void {
    if (this.#clock.wall() % DAY_MS < FROM_HOUR * HOUR_MS) return;
    this.#begin(watched);
    const { day, pages, read } = watched;
    if (isComplete(watched) || this.#isDone(read.owner(), read.resource, day)) return;
    let page = 1;
    while (pages.has(page)) page += 1;
    // A list that the key may not read fails each time.
    if (watched.tries < MOST_TRIES && read.request(page)) watched.tries += 1;
  }

  /** Forgets what was received on another day, or with another key. */
  #begin(watched: WatchedCounts): void {
    const day = Math.floor(this.#clock.wall() / DAY_MS);
    const { partition } = watched.read.owner().credential;
    if (watched.day === day && watched.partition === partition) return;
    watched.day = day;
    watched.partition = partition;
    watched.pages.clear();
    watched.tries = 0;
    watched.lastPage = null;
  }
}

function isComplete({ lastPage, pages }: WatchedCounts): boolean {
  if (lastPage === null) return false;
  for (let page = 1; page <= lastPage; page += 1) if (!pages.has(page)) return false;
  return true;
}
