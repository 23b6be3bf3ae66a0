import type { UpstreamName } from '../../errors.ts';
import { jsonIn } from '../../storage/json.ts';
import type { Store } from '../../store/store.ts';

/** One row per key. */
const ROWS = { from: 'key/', to: 'key0' };
/** The version of the format of a row. */
const FORMAT = 1;
/** Memory of a record beside its row, in bytes. */
const RECORD_BYTES = 500;

/** What is known of a keyed write whose outcome is not: a request was sent, the latest is over at `overAt`. */
export interface Ambiguity {
  /** 0 for a key that was perhaps used before, and that no request is known of. */
  readonly attempts: 0 | 1;
  /** When the first request was sent, on `Records.now`. */
  readonly sentAt: number;
  /**
   * When the latest request is certainly over, on `Records.now`: its connection is closed or it has timed out. Later
   * than that of any request while one is under way; a process that has ended has closed its connections.
   */
  readonly overAt: number;
  /**
   * Ids of rows that certainly existed before the first request, at least the highest; `null` if no page was cached.
   */
  readonly baseline: readonly number[] | null;
  /** Rows that may be the result; empty before they were looked for. */
  readonly candidates: readonly number[];
  /** Whether a created row was looked for, and no row can be it. */
  readonly isAbsent: boolean;
}

/** The final outcome of a keyed write. */
export type FinalOutcome =
  /** `value` is the decoded result without secrets, stored as JSON; `list` is the path of the list that has a row more. */
  | { readonly kind: 'done'; readonly value: unknown; readonly list?: string | undefined }
  /** The upstream rejected it, with this sentence for the caller. */
  | { readonly kind: 'rejected'; readonly reason: string };

/** The state of a key that was sent. */
type RecordState = { readonly kind: 'ambiguous'; readonly ambiguity: Ambiguity } | FinalOutcome;

/** What a record is of. */
interface RecordOf {
  readonly scope: string;
  readonly upstream: UpstreamName;
  readonly mutation: string;
  /** The two members of the fingerprint. */
  readonly secret: string;
  readonly digest: string;
  /** On `Records.now`. */
  readonly firstAt: number;
  /** When it is forgotten, on `Records.age`. */
  readonly until: number;
}

/** The value of a row. */
interface SavedRecord {
  readonly format: number;
  /** When it was written, on `Records.age`. */
  readonly age: number;
  readonly of: RecordOf;
  readonly state: RecordState;
}

/** The record of a key in memory. */
export interface KeptRecord {
  readonly name: string;
  readonly of: RecordOf;
  /** `null` for a key that was never sent, which is not saved. */
  state: RecordState | 'unreadable' | null;
  isUsed: boolean;
  bytes: number;
}

/** The records of one caller. */
interface Scope {
  bytes: number;
  /** The oldest first. */
  readonly records: Set<KeptRecord>;
}

interface KeptOptions {
  readonly store: Store;
  readonly maxBytes: number;
  /** Called with a record that is removed before its time. */
  readonly onForgotten: (record: KeptRecord) => void;
}

/**
 * Records in bounded memory and in the store, the oldest first. When it is full, the caller with the most memory loses its
 * oldest record, so that no caller removes the keys of others. Records in use stay.
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
    for (const { isUsed, state } of this.#records.values()) {
      if (isUsed) counts.inUse += 1;
      else if (typeof state === 'object' && state?.kind === 'ambiguous') counts.ambiguous += 1;
      else counts.final += 1;
    }
    return counts;
  }

  /**
   * Reads what the owners before have saved: their requests are over now. Returns the highest age of a row, and the number
   * of rows that this version cannot read, whose keys are never executed.
   * @throws StoreError
   */
  async load(
    keepMs: number,
    now: number,
  ): Promise<{ readonly age: number; readonly unreadable: number }> {
    const rows: {
      readonly name: string;
      readonly row: SavedRecord | null;
      readonly bytes: number;
    }[] = [];
    let age = 0;
    for await (const [key, value] of this.#options.store.read(ROWS)) {
      const row = parse(String(value));
      rows.push({ name: key.slice(ROWS.from.length), row, bytes: value.length });
      age = Math.max(age, row?.age ?? 0);
    }
    const latest = age + keepMs;
    const untilOf = (row: SavedRecord | null): number => Math.min(row?.of.until ?? latest, latest);
    rows.sort((a, b) => untilOf(a.row) - untilOf(b.row));
    for (const { bytes, name, row } of rows) {
      const record = this.add(name, { ...(row?.of ?? UNREADABLE), until: untilOf(row) });
      record.state = row ? endedBy(row.state, now) : 'unreadable';
      this.#weigh(record, RECORD_BYTES + bytes);
    }
    return { age, unreadable: rows.filter(({ row }) => row === null).length };
  }

  get(name: string): KeptRecord | undefined {
    return this.#records.get(name);
  }

  /** Adds a record after all others; it is saved with its first state. */
  add(name: string, of: RecordOf): KeptRecord {
    const record: KeptRecord = { name, of, state: null, isUsed: false, bytes: 0 };
    this.#records.set(name, record);
    const scope = this.#scopes.get(of.scope) ?? { bytes: 0, records: new Set() };
    this.#scopes.set(of.scope, scope);
    scope.records.add(record);
    this.#weigh(record, RECORD_BYTES);
    return record;
  }

  /** Changes the state of a record, and saves it. */
  set(record: KeptRecord, state: KeptRecord['state'], age: number): void {
    const { name, of } = record;
    record.state = state;
    const isSaved = typeof state === 'object' && state !== null;
    const text = isSaved
      ? JSON.stringify({ format: FORMAT, age, of, state } satisfies SavedRecord)
      : '';
    if (isSaved) this.#options.store.put(ROWS.from + name, text);
    else this.#options.store.delete(ROWS.from + name);
    this.#weigh(record, RECORD_BYTES + text.length);
    this.#makeRoom();
  }

  /** No request uses a record any more. */
  ended(record: KeptRecord): void {
    record.isUsed = false;
    // A key that was not sent is as new.
    if (record.state === null) this.#remove(record);
  }

  /** Removes the records whose time is over. */
  expire(age: number): void {
    for (const record of this.#records.values()) {
      if (record.of.until > age) return;
      if (!record.isUsed) this.#remove(record);
    }
  }

  #remove(record: KeptRecord): void {
    const { name, of, state } = record;
    this.#records.delete(name);
    if (state) this.#options.store.delete(ROWS.from + name);
    this.#weigh(record, 0);
    const scope = this.#scopes.get(of.scope);
    scope?.records.delete(record);
    if (scope?.records.size === 0) this.#scopes.delete(of.scope);
  }

  #weigh(record: KeptRecord, bytes: number): void {
    const more = bytes - record.bytes;
    record.bytes = bytes;
    this.#bytes += more;
    const scope = this.#scopes.get(record.of.scope);
    if (scope) scope.bytes += more;
  }

  #makeRoom(): void {
    while (this.#bytes > this.#options.maxBytes) {
      const forgotten = this.#next();
      if (!forgotten) return;
      this.#remove(forgotten);
      this.#options.onForgotten(forgotten);
    }
  }

  /** The record to forget next; undefined if all are in use. */
  #next(): KeptRecord | undefined {
    const scopes = [...this.#scopes.values()].sort((a, b) => b.bytes - a.bytes);
    for (const { records } of scopes) {
      for (const record of records) if (!record.isUsed) return record;
    }
    return undefined;
  }
}

/** The record of a row that cannot be read. */
const UNREADABLE = {
  scope: '',
  upstream: 'LINKS',
  mutation: '',
  secret: '',
  digest: '',
  firstAt: 0,
} as const;

/** The state of a record whose owner has ended, and so has closed its connections. */
function endedBy(state: RecordState, now: number): RecordState {
  if (state.kind !== 'ambiguous') return state;
  const { ambiguity } = state;
  return { ...state, ambiguity: { ...ambiguity, overAt: Math.min(now, ambiguity.overAt) } };
}

/** The value of a row; `null` if it is damaged or of another version. */
function parse(text: string): SavedRecord | null {
  const row = jsonIn(text) as SavedRecord | null | undefined;
  return row?.format === FORMAT ? row : null;
}
