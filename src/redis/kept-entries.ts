import type { Sealing } from './seal.ts';
import { jsonMembers } from './values.ts';

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
  /** The values by these names in one round trip. Rejects when there is no Redis. */
  readonly read: (names: readonly string[]) => Promise<readonly (Buffer | null)[]>;
  /** Keeps a value for some milliseconds; its outcome is not reported. */
  readonly write: (name: string, value: Buffer, ttlMs: number) => void;
  /** Called for everything that is there and cannot be used. */
  readonly unreadable: () => void;
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
    const { keyOf, read } = this.#options;
    try {
      const found = await read(names.map((name) => keyOf(name)));
      return names.map((name, at) => this.#open(name, found[at] ?? null));
    } catch {
      return names.map(() => null);
    }
  }

  /** Keeps an entry; false for one that is too large. */
  keep(name: string, entry: StoredEntry, ttlMs: number): boolean {
    const { keyOf, sealing, write } = this.#options;
    const text = encodeEntry(entry);
    if (text.length > MAX_BYTES) return false;
    const key = keyOf(name);
    write(key, sealing.seal(key, text), Math.min(ttlMs, LONGEST_MS));
    return true;
  }

  #open(name: string, sealed: Buffer | null): StoredEntry | null {
    if (!sealed) return null;
    const { keyOf, sealing, unreadable } = this.#options;
    const text = sealing.open(keyOf(name), sealed);
    const entry = text === null ? null : decodeEntry(text);
    if (!entry) unreadable();
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
