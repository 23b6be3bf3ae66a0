import type { EventStream } from '../observe/event-stream.ts';
import type { RedisConnection } from './connection/connection.ts';
import { jsonMembers } from './messages.ts';
import type { Sealing } from './seal.ts';

/** Raised when the members below, or the values that decoders make, change in a way that readers must notice. */
const FORMAT = 1;

/**
 * An answer in Redis, before it is sealed. How long it is worth something, and what makes it wrong, is for its
 * readers to say: they know the read.
 */
export interface StoredEntry {
  /** On the clock that all replicas share: when its request was granted. */
  readonly storedAt: number;
  /** In which life of Redis it was asked for. */
  readonly epoch: string;
  /** The latest write that it is known to show, counted within its epoch. */
  readonly asOf: number;
  /** What the decoder made of the answer. */
  readonly value: unknown;
  /** About how many bytes it takes up in a cache. */
  readonly bytes: number;
}

interface KeptEntriesOptions {
  readonly sealing: Sealing;
  /** The key that an answer is kept by. */
  readonly keyOf: (name: string) => string;
  readonly connection: Pick<RedisConnection, 'read' | 'write'>;
  /** Emits `unreadable` for everything that is there and cannot be used. */
  readonly events: EventStream;
}

/** So long an answer is kept at most, whatever its ttl. */
const LONGEST_MS = 86_400_000;
/** A longer answer is kept only by the replica that has read it: it would hold up the whole connection. */
const MAX_BYTES = 1024 * 1024;

/** Answers in Redis, sealed: without the secret no answer can be made up there, and none can be read. */
export class KeptEntries {
  readonly #options: KeptEntriesOptions;

  constructor(options: KeptEntriesOptions) {
    this.#options = options;
  }

  /** The entries by these names; `null` for one that is not there, or is not what was kept. Never rejects. */
  async find(names: readonly string[]): Promise<(StoredEntry | null)[]> {
    const { connection, keyOf } = this.#options;
    try {
      const found = await connection.read(names.map((name) => keyOf(name)));
      return names.map((name, at) => this.#open(name, found[at] ?? null));
    } catch {
      return names.map(() => null);
    }
  }

  /** Keeps an entry; false for one that is too large, and where there is no Redis. */
  keep(name: string, entry: StoredEntry, ttlMs: number): boolean {
    const { connection, keyOf, sealing } = this.#options;
    const text = encodeEntry(entry);
    if (text.length > MAX_BYTES) return false;
    const key = keyOf(name);
    return connection.write(key, sealing.seal(key, text), Math.min(ttlMs, LONGEST_MS));
  }

  #open(name: string, sealed: Buffer | null): StoredEntry | null {
    if (!sealed) return null;
    const { events, keyOf, sealing } = this.#options;
    const text = sealing.open(keyOf(name), sealed);
    const entry = text === null ? null : decodeEntry(text);
    if (!entry) events.emit('unreadable', null);
    return entry;
  }
}

/** Writes an entry as JSON. */
export function encodeEntry(entry: StoredEntry): string {
  const { storedAt, epoch, asOf, bytes, value } = entry;
  return JSON.stringify({ format: FORMAT, storedAt, epoch, asOf, bytes, value });
}

/** Reads what `encodeEntry` wrote; `null` for anything else, of another format too. Never throws. */
export function decodeEntry(text: string): StoredEntry | null {
  const members = jsonMembers(text);
  if (members['format'] !== FORMAT || !Object.hasOwn(members, 'value')) return null;
  const { storedAt, epoch, asOf, bytes, value } = members;
  if (!isFinite(storedAt) || typeof epoch !== 'string' || epoch === '') return null;
  if (!isCount(asOf) || !isCount(bytes)) return null;
  return { storedAt, epoch, asOf, value, bytes };
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
