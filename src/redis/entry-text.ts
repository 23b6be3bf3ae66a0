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
