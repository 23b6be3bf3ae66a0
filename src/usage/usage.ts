import { DEFAULT_CLASS } from '../auth/caller-class.ts';
import { BadUserInput } from '../errors.ts';
import { copiedName } from '../observe/callers.ts';
import { type BulkOptions, type EventReader, emitInBulk } from '../observe/event-stream.ts';
import type { EventRows } from '../observe/events.ts';
import type { Scrub } from '../observe/log/scrub.ts';
import { jsonIn } from '../storage/json.ts';
import type { Store } from '../store/store.ts';
import {
  type CountedRow,
  DAY_MS,
  DayUsage,
  REFRESHES,
  UNNAMED,
  type UsageRow,
} from './day-usage.ts';
import {
  dateOf,
  TooManyGroups,
  type UsageDimension,
  type UsageReport,
  UsageSums,
} from './usage-report.ts';

/** Number of days that are kept. */
export const KEPT_DAYS = 400;
/** Maximum number of groups of a report. */
const MOST_GROUPS = 20_000;

interface UsageOptions extends BulkOptions {
  readonly store: Store;
  /** Removes secrets from a text. */
  readonly scrub: Scrub;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** The days of a report, as numbers of days since 1970, and its groups. */
export interface UsageTerms {
  /** The first and the last day, inclusive. */
  readonly from: number;
  readonly to: number;
  readonly by: readonly UsageDimension[];
  /** Only requests of this caller, if it is present. */
  readonly caller?: string | undefined;
}

/**
 * Counts who has sent how many upstream requests, and how many were avoided, by day, caller, class, operation and
 * resource. A request counts when it is sent, for the caller that causes it. The store has each row of a day. Costs no
 * upstream request.
 */
export class Usage implements EventReader {
  readonly #options: UsageOptions;
  /** Called after each avoided request: those are saved within a minute. */
  readonly #savedLater: () => void;
  /** Where the requests in flight are counted. */
  readonly #sent = new WeakMap<
    EventRows['requestSent'],
    { readonly usage: DayUsage; readonly row: CountedRow }
  >();
  #today: DayUsage;
  #hasComplained = false;

  private constructor(options: UsageOptions) {
    this.#options = options;
    const day = Math.floor(options.clock.wall() / DAY_MS);
    this.#today = new DayUsage(day, 0);
    this.#savedLater = emitInBulk(options, () => this.#save());
  }

  /**
   * Makes the usage, with that of earlier processes, and counts all events from now on.
   * @throws StoreError
   */
  static async load(options: UsageOptions): Promise<Usage> {
    const usage = new Usage(options);
    const today = usage.#today;
    usage.#removeOld();
    for await (const { id, row } of usage.#read(today.day, today.day)) today.restore(id, row);
    options.events.add(usage);
    return usage;
  }

  requestSent(request: EventRows['requestSent']): void {
    const { asker, caller, callerClass, resource, upstream } = request;
    const operation = asker ? (asker.operation ?? UNNAMED) : UNNAMED;
    const usage = this.#ofToday();
    const row = usage.add({
      upstream,
      resource,
      callerClass: callerClass ?? REFRESHES,
      caller: caller === null ? REFRESHES : this.#shown(caller),
      operation: caller === null ? REFRESHES : this.#shown(operation),
      calls: 1,
      saved: 0,
    });
    this.#sent.set(request, { usage, row });
    this.#save();
  }

  requestEnded({ outcome, request }: EventRows['requestEnded']): void {
    const counted = this.#sent.get(request);
    if (!outcome.isUnsent || !counted) return;
    const { row, usage } = counted;
    usage.takeBack(row);
    this.#save(usage);
  }

  saved({ caller, callerClass, kinds, operation, times }: EventRows['saved']): void {
    const key = {
      callerClass: callerClass ?? DEFAULT_CLASS,
      caller: this.#shown(caller),
      operation: this.#shown(operation ?? UNNAMED),
    };
    const usage = this.#ofToday();
    for (const { count, resource, upstream } of kinds) {
      usage.add({ ...key, upstream, resource, calls: 0, saved: count * times });
    }
    this.#savedLater();
  }

  /** The current day, in days since 1970 in UTC. It never goes back. */
  get today(): number {
    return Math.max(this.#today.day, Math.floor(this.#options.clock.wall() / DAY_MS));
  }

  /**
   * The usage of some days, in turns of the event loop.
   * @throws BadUserInput `BAD_USER_INPUT` if the days are not kept, or there are too many groups.
   * @throws StoreError if earlier days cannot be read.
   */
  async report({ by, caller, from, to }: UsageTerms): Promise<UsageReport> {
    if (from > to) throw new BadUserInput('"from" must not be after "to".');
    if (to - from >= KEPT_DAYS) {
      throw new BadUserInput(`"from" and "to" must not be more than ${KEPT_DAYS} days apart.`);
    }
    this.#options.events.emit('look', null);
    const sums = new UsageSums(by, MOST_GROUPS);
    const only = caller === undefined ? null : this.#shown(caller);
    const today = this.#today;
    const add = (day: number, row: UsageRow): void => {
      if (only === null || row.caller === only) sums.add(day, row);
    };
    try {
      const before = Math.min(to, today.day - 1);
      if (from <= before) {
        for await (const { day, row } of this.#read(from, before)) add(day, row);
      }
      if (from <= today.day && today.day <= to) {
        for (const row of today.rows) add(today.day, row);
      }
    } catch (error) {
      if (!(error instanceof TooManyGroups)) throw error;
      throw new BadUserInput(
        `The usage has more than ${MOST_GROUPS} groups. Shorten the period, or group by fewer dimensions.`,
      );
    }
    return sums.report;
  }

  /** Saves what is not saved yet. */
  close(): void {
    this.#options.events.emit('look', null);
    this.#save();
  }

  /** The usage of the current day. */
  #ofToday(): DayUsage {
    const { today } = this;
    if (today > this.#today.day) {
      this.#save();
      this.#today = new DayUsage(today, this.#today.nextId);
      this.#removeOld();
    }
    return this.#today;
  }

  #save(usage = this.#today): void {
    const { store } = this.#options;
    for (const row of usage.changes()) {
      const key = keyOf(usage.day, String(row.id));
      if (row.calls + row.saved > 0) store.put(key, textOfRow(row));
      else store.delete(key);
    }
  }

  /** The rows of some days in the store, by day. */
  async *#read(
    from: number,
    to: number,
  ): AsyncIterable<{ readonly day: number; readonly id: number; readonly row: UsageRow }> {
    const { complain, store } = this.#options;
    for await (const [key, value] of store.read({ from: keyOf(from), to: keyOf(to + 1) })) {
      const [, day, id] = key.split('/');
      const row = rowIn(value.toString());
      if (row) yield { day: Number(day), id: Number(id), row };
      else if (!this.#hasComplained) {
        this.#hasComplained = true;
        complain(`A part of the usage of ${dateOf(Number(day))} cannot be read, and is missing.`);
      }
    }
  }

  #removeOld(): void {
    this.#options.store.clear({ from: keyOf(0), to: keyOf(this.#today.day - KEPT_DAYS + 1) });
  }

  /** A name as it is counted: short, on one line, and without secrets. */
  #shown(name: string): string {
    return copiedName(this.#options.scrub(name)).replace(/\s+/g, ' ');
  }
}

/** The first day of the month of a day, both in days since 1970. */
export function firstOfMonth(day: number): number {
  return day - new Date(day * DAY_MS).getUTCDate() + 1;
}

/** The key of a row of a day in the store, in the order of days. */
function keyOf(day: number, id = ''): string {
  return `usage/${String(day).padStart(6, '0')}/${id}`;
}

/** A row as a value of the store. */
export function textOfRow(row: UsageRow): string {
  const { caller, callerClass, calls, operation, resource, saved, upstream } = row;
  return JSON.stringify([upstream, resource, callerClass, caller, operation, calls, saved]);
}

/** Reads what `textOfRow` wrote; `null` for anything else. Never throws. */
export function rowIn(text: string): UsageRow | null {
  const members = jsonIn(text);
  if (!Array.isArray(members) || members.length !== 7) return null;
  const [upstream, resource, callerClass, caller, operation, calls, saved] = members as unknown[];
  if (upstream !== 'LINKS' && upstream !== 'MARKET') return null;
  if (!isText(resource) || !isText(callerClass) || !isText(caller) || !isText(operation))
    return null;
  if (!isCount(calls) || !isCount(saved)) return null;
  return { upstream, resource, callerClass, caller, operation, calls, saved };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
