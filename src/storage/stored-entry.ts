import { jsonMembers } from './json-members.ts';

/** Raised when the members below, or the values that decoders make, change in a way that readers must notice. */
const ENTRY_FORMAT = 2;

/** A response as it is stored, before encryption. Its readers determine its ttl and tags: they have the read. */
export interface StoredEntry {
  /** When its request was granted, in milliseconds since 1970. */
  readonly storedAt: number;
  /** The latest write that it is known to show. */
  readonly asOf: number;
  /** The decoded response. */
  readonly value: unknown;
  /** About how many bytes it takes up in a cache. */
  readonly bytes: number;
}

/** Writes an entry as JSON. */
export function encodeEntry(entry: StoredEntry): string {
  const { storedAt, asOf, bytes, value } = entry;
  return JSON.stringify({ format: ENTRY_FORMAT, storedAt, asOf, bytes, value });
}

/** Reads what `encodeEntry` wrote; `null` for anything else, of another format too. Never throws. */
export function decodeEntry(text: string): StoredEntry | null {
  const members = jsonMembers(text);
  if (members['format'] !== ENTRY_FORMAT || !Object.hasOwn(members, 'value')) return null;
  const { storedAt, asOf, bytes, value } = members;
  if (!isFinite(storedAt) || !isCount(asOf) || !isCount(bytes)) return null;
  return { storedAt, asOf, value, bytes };
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
