import { type RecordState, recordText, type SavedRecord } from './record-lines.ts';

/** Memory of a record beside its text, in bytes. */
const RECORD_BYTES = 500;

/** A request that uses a record. */
interface Use {
  /** Resolves when the record may be claimed again. */
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/** The record of a key in memory. */
export interface KeptRecord extends Omit<SavedRecord, 'state'> {
  /** `null` for a key that was never sent; a text for a record of another version. */
  state: RecordState | string | null;
  /** `null` if no request uses it. */
  use: Use | null;
  bytes: number;
}

/** The records of one caller. */
interface Scope {
  bytes: number;
  /** The oldest first. */
  readonly records: Set<KeptRecord>;
}

interface KeptOptions {
  readonly maxBytes: number;
  /** Called with a record that is removed before its time. */
  readonly onForgotten: (record: KeptRecord) => void;
}

/**
 * Records in bounded memory, the oldest first. When it is full, the caller with the most memory loses its oldest record, so
 * that no caller removes the keys of others. Records in use stay.
 */
export class KeptRecords implements Iterable<KeptRecord> {
  readonly #options: KeptOptions;
  readonly #records = new Map<string, KeptRecord>();
  readonly #scopes = new Map<string, Scope>();
  #bytes = 0;

  constructor(options: KeptOptions) {
    this.#options = options;
  }

  [Symbol.iterator](): Iterator<KeptRecord> {
    return this.#records.values();
  }

  /** Numbers of records, and their memory. Looks at all of them. */
  get counts(): Record<'inUse' | 'ambiguous' | 'final' | 'bytes', number> {
    const counts = { inUse: 0, ambiguous: 0, final: 0, bytes: this.#bytes };
    for (const { state, use } of this.#records.values()) {
      if (use) counts.inUse += 1;
      else if (typeof state === 'object' && state?.kind === 'ambiguous') counts.ambiguous += 1;
      else counts.final += 1;
    }
    return counts;
  }

  get(name: string): KeptRecord | undefined {
    return this.#records.get(name);
  }

  /** Adds a record after all others. */
  add(of: Omit<SavedRecord, 'state'>): KeptRecord {
    const record: KeptRecord = { ...of, state: null, use: null, bytes: 0 };
    this.#records.set(of.name, record);
    const scope = this.#scopes.get(of.scope) ?? { bytes: 0, records: new Set() };
    this.#scopes.set(of.scope, scope);
    scope.records.add(record);
    this.#weigh(record, RECORD_BYTES);
    return record;
  }

  /** Changes the state of a record; returns it as a line, which is empty for a key that was never sent. */
  set(record: KeptRecord, state: KeptRecord['state']): string {
    record.state = state;
    const text = textOf(record);
    this.#weigh(record, RECORD_BYTES + text.length);
    this.#makeRoom();
    return text;
  }

  remove(name: string): void {
    const record = this.#records.get(name);
    if (!record) return;
    this.#records.delete(name);
    this.#weigh(record, 0);
    const scope = this.#scopes.get(record.scope);
    scope?.records.delete(record);
    if (scope?.records.size === 0) this.#scopes.delete(record.scope);
  }

  /** A request begins to use a record; call `use.end` once. */
  begin(record: KeptRecord): void {
    let resolve = (): void => {};
    const ended = new Promise<void>((end) => {
      resolve = end;
    });
    record.use = {
      ended,
      end: () => {
        record.use = null;
        // A key that was not sent is as new.
        if (record.state === null) this.remove(record.name);
        resolve();
      },
    };
  }

  /** Removes the records whose time is over. */
  expire(now: number): void {
    for (const { name, until, use } of this.#records.values()) {
      if (until > now) return;
      if (!use) this.remove(name);
    }
  }

  #weigh(record: KeptRecord, bytes: number): void {
    const more = bytes - record.bytes;
    record.bytes = bytes;
    this.#bytes += more;
    const scope = this.#scopes.get(record.scope);
    if (scope) scope.bytes += more;
  }

  #makeRoom(): void {
    while (this.#bytes > this.#options.maxBytes) {
      const forgotten = this.#next();
      if (!forgotten) return;
      this.remove(forgotten.name);
      this.#options.onForgotten(forgotten);
    }
  }

  /** The record to forget next; undefined if all are in use. */
  #next(): KeptRecord | undefined {
    const scopes = [...this.#scopes.values()].sort((a, b) => b.bytes - a.bytes);
    for (const { records } of scopes) {
      for (const record of records) if (!record.use) return record;
    }
    return undefined;
  }
}

/** A record as a line; empty for a key that was never sent. */
export function textOf({ bytes: _bytes, state, use: _use, ...record }: KeptRecord): string {
  if (state === null) return '';
  return typeof state === 'string' ? state : recordText({ ...record, state });
}
