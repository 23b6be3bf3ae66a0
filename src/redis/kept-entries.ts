import type { EventStream } from '../observe/event-stream.ts';
import type { Sealing } from '../storage/sealing.ts';
import { decodeEntry, encodeEntry, type StoredEntry } from '../storage/stored-entry.ts';

/** Upper bound of the time that a response is stored, whatever its ttl. */
const LONGEST_MS = 86_400_000;
/** A longer response is stored only by the replica that has read it: it would block the connection. */
const MAX_BYTES = 1024 * 1024;

interface KeptEntriesOptions {
  readonly sealing: Sealing;
  /** The key of a response. */
  readonly keyOf: (name: string) => string;
  /** See `RedisConnection`. */
  readonly connection: {
    read(names: readonly string[]): Promise<readonly (Buffer | null)[]>;
    write(name: string, value: Buffer, ttlMs: number): boolean;
  };
  /** Emits `unreadable` for everything that is there and cannot be used. */
  readonly events: EventStream;
}

/** Encrypted responses in Redis: without the secret, none can be forged or read. */
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

  /** Stores an entry; false if it is too large, or there is no Redis. */
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
