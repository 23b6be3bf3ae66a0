import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { StoreError } from '../../store/engine.ts';
import type { Store } from '../../store/store.ts';
import { CO_TENANT_REMEMBERED_WINDOWS } from './law/caution.ts';

/**
 * `slot/<key>/<id>`: `<end> <class>`: when the response of a request ends at the latest, `NaN` if that is not limited, and
 * the class of its caller, absent for refreshes.
 */
const SLOTS = { from: 'slot/', to: 'slot0' };
/** `co-tenant/<key>`: when one was seen. */
const CO_TENANTS = { from: 'co-tenant/', to: 'co-tenant0' };
/**
 * `<now> <wall> <known since> <knownSince of the store>` at the last change: the first and third, and the times of all rows,
 * are on the `clock.now()` of the process that wrote it.
 */
const CLOCK = 'slot-clock';
/** Allowance for the clocks of two machines, which can differ by a second, and for times in whole milliseconds. */
const MARGIN_MS = 1005;

interface SavedSlotsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** The longest window of all keys, in milliseconds. */
  readonly keepMs: number;
}

/** A request in the store. */
export interface SavedSlot {
  /** It may not leave after this time, on `clock.now()`: its row would not count long enough. */
  readonly leaveBy: number;
  /** Its response has ended. */
  ended(): void;
  /** It was not sent. */
  cancelled(): void;
}

/** A row in the store, with its time on `clock.now()`. */
interface SavedRow {
  readonly row: string;
  readonly at: number;
  readonly callerClass: string | undefined;
}

/** A request of the owners before. */
interface RecalledSlot {
  /** Until when it counts, on `clock.now()`. */
  readonly until: number;
  /** The class of its caller; absent for a refresh. */
  readonly callerClass?: string | undefined;
}

/** What is saved of the requests of one key, and what the owners before have saved. */
export interface KeySlots {
  readonly recalled: readonly RecalledSlot[];
  /** Until when half the limit is left alone, on `clock.now()`, because it is not known what was spent. */
  readonly unknownUntil: number;
  /** Whether the owners before have used the key, and all that they have spent is known. */
  readonly isKnown: boolean;
  /** When a co-tenant of the key was seen, on `clock.now()`; `null` if none was. */
  readonly coTenantSeenAt: number | null;
  /** A request of a caller of this class has its slot. */
  begin(lengthy: boolean, callerClass?: string): SavedSlot;
  /** A co-tenant of the key was seen. */
  coTenantSeen(): void;
  /** See `Store.saved`. */
  saved(): AtOnce<void>;
}

/**
 * The slots that count, in the store, so that the next owner keeps the limit even if this process is killed. Ages are
 * measured with the monotonic clock, except for the gap between two processes.
 */
export class SavedSlots {
  readonly #options: SavedSlotsOptions;
  readonly #startedAt: number;
  /** Since when all sent requests are known, on `clock.now()`. */
  #knownSince: number;
  /** The slots of earlier owners, by key. */
  readonly #recalled = new Map<string, SavedRow[]>();
  /** When each response has ended, by row, in the order in which the rows are deleted. */
  readonly #ended = new Map<string, number>();
  /** When co-tenants were last seen, by row, in this order. */
  readonly #coTenants = new Map<string, number>();
  #rows = 0;

  /** Of a store in which nothing is saved yet. */
  constructor(options: SavedSlotsOptions) {
    const { clock, store } = options;
    const [now, wall] = [clock.now(), clock.wall()];
    this.#options = options;
    this.#startedAt = now;
    this.#knownSince =
      store.knownSince === 0 ? -Infinity : now - Math.max(0, wall - store.knownSince);
  }

  /**
   * Reads what the owners before have saved.
   * @throws StoreError
   */
  static async load(options: SavedSlotsOptions): Promise<SavedSlots> {
    const slots = new SavedSlots(options);
    await slots.#load();
    return slots;
  }

  /** See `Store.sendFault`. */
  get fault(): StoreError | null {
    return this.#options.store.sendFault;
  }

  /** The part of one key, by a name that is equal in all processes and does not reveal the key. */
  of(
    key: string,
    { timeoutMs, windowMs }: { readonly windowMs: number; readonly timeoutMs: number },
  ): KeySlots {
    const { clock, store } = this.#options;
    const now = clock.now();
    const ends = this.#recalled.get(key);
    const unknownUntil = this.#knownSince + windowMs;
    return {
      recalled: (ends ?? [])
        .map(({ at, callerClass }) => ({ until: at + windowMs + MARGIN_MS, callerClass }))
        .filter(({ until }) => until > now),
      unknownUntil,
      isKnown: ends !== undefined && unknownUntil <= now,
      coTenantSeenAt: this.#coTenants.get(CO_TENANTS.from + key) ?? null,
      begin: (lengthy, callerClass) => this.#begin(key, timeoutMs, lengthy, callerClass),
      coTenantSeen: () => this.#coTenantSeen(CO_TENANTS.from + key, windowMs),
      saved: () => store.saved(),
    };
  }

  #begin(key: string, timeoutMs: number, lengthy: boolean, callerClass?: string): SavedSlot {
    const { clock, keepMs, store } = this.#options;
    const now = clock.now();
    this.#expire(this.#ended, now - keepMs - MARGIN_MS);
    const row = this.#newRow(key);
    const leaveBy = now + timeoutMs;
    this.#put(row, lengthy ? NaN : leaveBy + timeoutMs, callerClass);
    return {
      leaveBy,
      ended: () => this.#putTime(this.#ended, row, clock.now(), callerClass),
      cancelled: () => {
        store.delete(row);
        store.put(CLOCK, this.#clockRow());
      },
    };
  }

  /** Once a window. */
  #coTenantSeen(row: string, windowMs: number): void {
    const { clock, keepMs } = this.#options;
    const now = clock.now();
    this.#expire(this.#coTenants, now - CO_TENANT_REMEMBERED_WINDOWS * keepMs);
    if (now - (this.#coTenants.get(row) ?? -Infinity) >= windowMs) {
      this.#putTime(this.#coTenants, row, now);
    }
  }

  #putTime(times: Map<string, number>, row: string, at: number, callerClass?: string): void {
    times.delete(row);
    times.set(row, at);
    this.#put(row, at, callerClass);
  }

  /** Deletes rows of this time or before. */
  #expire(times: Map<string, number>, until: number): void {
    for (const [row, at] of times) {
      if (at > until) return;
      times.delete(row);
      this.#options.store.delete(row);
    }
  }

  #newRow(key: string): string {
    this.#rows += 1;
    return `${SLOTS.from}${key}/${this.#rows}`;
  }

  #put(row: string, at: number, callerClass?: string): void {
    const { store } = this.#options;
    const time = String(Math.round(at));
    store.put(row, callerClass === undefined ? time : `${time} ${callerClass}`);
    store.put(CLOCK, this.#clockRow());
  }

  #clockRow(): string {
    const { clock, store } = this.#options;
    return `${clock.now()} ${clock.wall()} ${this.#knownSince} ${store.knownSince}`;
  }

  /** Reads the rows, and writes them with the times of this process. */
  async #load(): Promise<void> {
    const { store } = this.#options;
    const toHere = this.#converter(await store.get(CLOCK));
    const slots = await this.#read(SLOTS, toHere);
    store.clear(SLOTS);
    for (const slot of slots) {
      const key = slot.row.slice(SLOTS.from.length, slot.row.lastIndexOf('/'));
      this.#recalled.set(key, [...(this.#recalled.get(key) ?? []), slot]);
      this.#putTime(this.#ended, this.#newRow(key), slot.at, slot.callerClass);
    }
    for (const { at, row } of await this.#read(CO_TENANTS, toHere)) {
      this.#putTime(this.#coTenants, row, at);
    }
    store.put(CLOCK, this.#clockRow());
  }

  /** Rows in the order of their times. */
  async #read(range: typeof SLOTS, toHere: (value: string) => number): Promise<SavedRow[]> {
    const rows: SavedRow[] = [];
    for await (const [row, value] of this.#options.store.read(range)) {
      const [time = '', callerClass] = String(value).split(' ');
      rows.push({ row, at: toHere(time), callerClass });
    }
    return rows.sort((one, other) => one.at - other.at);
  }

  /** Converts a time to the clock of this process. One that is not known was just before its start. */
  #converter(saved: Buffer | null): (time: string) => number {
    const times = String(saved).split(' ').map(parseFloat);
    const [then = NaN, wallThen = NaN, since = NaN, storeSince = NaN] = times;
    const { clock } = this.#options;
    const [now, wall] = [clock.now(), clock.wall()];
    // A wall clock that was set back must not free slots: then no time is assumed to have passed.
    const shift = now - Math.max(0, wall - wallThen) - then;
    if (storeSince === this.#options.store.knownSince) this.#knownSince = since + shift;
    return (time) => {
      const at = parseFloat(time) + shift;
      return Number.isNaN(at) ? this.#startedAt : at;
    };
  }
}
