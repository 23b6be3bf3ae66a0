import { randomBytes } from 'node:crypto';
import { createDigest, type Digest } from '../../digest.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { IdempotencyGauges } from '../../observe/metrics/write-metrics.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { jsonIn } from '../../storage/json.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyKey } from './idempotency-key.ts';
import { type FinalOutcome, type KeptRecord, KeptRecords } from './kept-records.ts';

/** The row of what all records have in common. */
const HEAD_KEY = 'keys';
const SECRET_BYTES = 32;
/** Maximum length of the JSON of a stored result, in characters. */
const MOST_CHARACTERS = 4096;

interface RecordsOptions {
  readonly clock: Clock;
  readonly store: Store;
  /** How long a key is kept, in milliseconds. */
  readonly keepMs: number;
  /** Maximum memory of all records. */
  readonly maxBytes: number;
  /** Whether it is a fault that the store ends with this process. */
  readonly mustSave?: boolean;
  readonly events?: EventStream | undefined;
  /** Reports to the operator, in one sentence. */
  readonly complain?: (sentence: string) => void;
}

/** What all records have in common. */
interface Head {
  /** The secret of names, in base64url. */
  readonly secret: string;
  /** Since when no key was forgotten, on `Records.now`. */
  readonly knownSince: number;
  /** When the secret before was found to be lost, on `Records.now`; 0 if it never was. */
  readonly lostAt: number;
}

/** Why nothing is sent for a key. */
export type KnownKey =
  /** The key was used with another content. */
  | { readonly kind: 'reused' }
  /** The key was used, and its record has an unknown format: it is never executed. */
  | { readonly kind: 'unreadable' }
  /** `firstAt` is when the key was first used, on `Records.now`. */
  | { readonly kind: 'final'; readonly firstAt: number; readonly outcome: FinalOutcome };

/** What became of keys: in memory, and in the store for the next owner. */
export class Records {
  /** Names keys, equally in all processes on the store. */
  readonly digest: Digest;
  readonly #options: RecordsOptions;
  readonly #kept: KeptRecords;
  readonly #secret: string;
  /** Both clocks at the start. */
  readonly #startedAt: { readonly now: number; readonly wall: number };
  /** The age at the start. */
  #ageBefore = 0;
  #knownSince: number;
  /** When the secret of names was last found to be lost, on `now`; 0 if it never was. */
  readonly #lostAt: number;

  /** Of a store in which no key is saved yet. */
  constructor(options: RecordsOptions, head: Head | null = null, hasLostHead = false) {
    const { clock, events, maxBytes, store } = options;
    this.#options = options;
    this.#startedAt = { now: clock.now(), wall: clock.wall() };
    this.#secret = head?.secret ?? randomBytes(SECRET_BYTES).toString('base64url');
    this.#knownSince = Math.min(this.now, Math.max(store.knownSince, head?.knownSince ?? 0));
    this.#lostAt = hasLostHead ? this.now : (head?.lostAt ?? 0);
    this.digest = createDigest(this.#secret);
    this.#kept = new KeptRecords({
      store,
      maxBytes,
      onForgotten: ({ of }) => {
        // Another key of that time may have been used.
        this.#knownSince = Math.max(this.#knownSince, of.firstAt);
        this.#putHead();
        events?.emit('keysForgotten', { count: 1 });
      },
    });
    if (!head) this.#putHead();
  }

  /**
   * Reads what the owners before have saved.
   * @throws StoreError
   */
  static async load(options: RecordsOptions): Promise<Records> {
    const { complain, keepMs, store } = options;
    const saved = await store.get(HEAD_KEY);
    const head = saved && ((jsonIn(String(saved)) as Head | undefined) ?? null);
    const records = new Records(options, head, saved !== null && head === null);
    const { age, unreadable } = await records.#kept.load(keepMs, records.now);
    records.#ageBefore = age;
    if (saved && !head) complain?.('The secret of idempotency keys was damaged.');
    if (unreadable > 0) {
      complain?.(
        `Records of idempotency keys that are damaged or of another version: ${unreadable}. Their mutations are not executed again.`,
      );
    }
    return records;
  }

  /** The wall clock at the start, and the time since: one that is set has no effect on running writes. */
  get now(): number {
    const { now, wall } = this.#startedAt;
    return Math.round(wall + this.#options.clock.now() - now);
  }

  /** Time passes only while a process runs: a wall clock that was set must not remove records. */
  #ageAt(now: number): number {
    return Math.round(this.#ageBefore + now - this.#startedAt.wall);
  }

  /** Since when all keys are known, on `now`. */
  get knownSince(): number {
    return Math.max(this.#knownSince, this.now - this.#options.keepMs);
  }

  /** Whether keys may have been used that are not known, however old they are. */
  get hasLost(): boolean {
    const { keepMs, store } = this.#options;
    const lostAt = Math.max(this.#lostAt, store.hasLost ? store.knownSince : 0);
    return lostAt > 0 && lostAt > this.now - keepMs;
  }

  get gauges(): IdempotencyGauges {
    const { ambiguous, bytes, final: stored, inUse } = this.#kept.counts;
    const { maxBytes, mustSave = false, store } = this.#options;
    const isSaveFailing = mustSave && (!store.isDurable || store.fault !== null);
    return { inProgress: inUse, ambiguous, stored, bytes, maxBytes, isSaveFailing };
  }

  /** Ids of rows of a list that keyed creations have made. */
  createdIn(list: string): ReadonlySet<number> {
    const ids = new Set<number>();
    for (const { state } of this.#kept) {
      if (typeof state !== 'object' || state?.kind !== 'done' || state.list !== list) continue;
      const id = idOf(state.value);
      if (id !== null) ids.add(id);
    }
    return ids;
  }

  /** Why nothing is sent for a key; `null` for one that can be owned. */
  known(key: IdempotencyKey): KnownKey | null {
    const record = this.#kept.get(key.name);
    if (!record || (!record.isUsed && record.of.until <= this.#ageAt(this.now))) return null;
    const { of, state } = record;
    if (state === 'unreadable') return { kind: 'unreadable' };
    if (!isSame(of, key)) return { kind: 'reused' };
    if (state && state.kind !== 'ambiguous')
      return { kind: 'final', firstAt: of.firstAt, outcome: state };
    return null;
  }

  /** The record of a key that is not known; until `handBack`, no other request may own it. */
  own({ fingerprint, mutation, name, scope, upstream }: IdempotencyKey): KeptRecord {
    const firstAt = this.now;
    const age = this.#ageAt(firstAt);
    const until = age + this.#options.keepMs;
    this.#kept.expire(age);
    const of = { scope, upstream, mutation, ...fingerprint, firstAt, until };
    const record = this.#kept.get(name) ?? this.#kept.add(name, of);
    record.isUsed = true;
    return record;
  }

  /** Saves the state of an owned record, in the transaction of this turn of the event loop. */
  save(record: KeptRecord, state: KeptRecord['state']): void {
    if (record.state === state) return;
    const isDone = typeof state === 'object' && state?.kind === 'done';
    const stored = isDone ? { ...state, value: storedValue(state.value) } : state;
    this.#kept.set(record, stored, this.#ageAt(this.now));
  }

  /** Resolves when no crash can lose what was saved, or when that cannot be saved now. */
  async committed(): Promise<void> {
    const { store } = this.#options;
    if (store.isDurable) await store.committed().catch(() => {});
  }

  /** Another request may now own a record. */
  handBack(record: KeptRecord): void {
    this.#kept.ended(record);
  }

  #putHead(): void {
    const head = { secret: this.#secret, knownSince: this.#knownSince, lostAt: this.#lostAt };
    this.#options.store.put(HEAD_KEY, JSON.stringify(head satisfies Head));
  }
}

/** A result in the form in which a record stores it: as JSON; of a large one only its id. */
function storedValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text === undefined) return null;
  if (text.length <= MOST_CHARACTERS) return JSON.parse(text);
  const isRow = typeof value === 'object' && value !== null && 'id' in value;
  return isRow ? { id: value.id } : null;
}

/** The id of a created row; `null` if the result has none. */
export function idOf(value: unknown): number | null {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'number' ? id : null;
}

/** Whether a record is of the content of a key. */
function isSame(
  record: KeptRecord['of'],
  { fingerprint, mutation }: Pick<IdempotencyKey, 'fingerprint' | 'mutation'>,
): boolean {
  if (record.mutation !== mutation) return false;
  return record.secret !== fingerprint.secret || record.digest === fingerprint.digest;
}
