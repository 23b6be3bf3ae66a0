import type { Digest } from '../../digest.ts';
import type { UpstreamName } from '../../errors.ts';
import type { KeyedRead, Read } from '../request.ts';

/** The prefix of the keys and tags of one upstream and partition. */
export function scopeOf(upstream: UpstreamName, partition: string): string {
  return `${upstream}:${partition}`;
}

/** The tags within a scope. */
export function scopedTags(scope: string, tags: readonly string[]): string[] {
  return tags.map((tag) => `${scope} ${tag}`);
}

/** The tag of all entries in a scope: touched when its API key is rejected. */
export const EVERYTHING = '*';

/** The same tag in the scope of the cache. */
export function everythingOf(scope: string): string {
  return `${scope} ${EVERYTHING}`;
}

/** The scoped tags by which a write, or a rejection of the key, can affect the response to a read in flight. */
export function tagsInFlight({ key, read: { page, tags } }: KeyedRead): readonly string[] {
  return scopedTags(scopeOfKey(key), [...tags, ...(page?.inFlightTags ?? []), EVERYTHING]);
}

/** The scoped tags by which a write can affect a response that has arrived. */
export function tagsOfAnswer<T>({ key, read }: KeyedRead<T>, value: T): readonly string[] {
  const { page, tags } = read;
  const ofRows = page?.lateTags(value) ?? [];
  return scopedTags(scopeOfKey(key), ofRows.length > 0 ? [...tags, ...ofRows] : tags);
}

/** Longest query, in characters, that a key contains unchanged. */
const LONGEST_QUERY = 500;

/**
 * The key of a response in the cache, of bounded length. It contains only a digest of a body, because bodies can
 * contain data that must not be stored.
 */
export function cacheKey(scope: string, read: Read<unknown>, digest: Digest): string {
  const query = readLength(read) > LONGEST_QUERY ? digest(sorted(read)) : sorted(read);
  const body = read.body ? digest(JSON.stringify(read.body)) : '';
  return `${scope} ${read.method} ${read.path}?${query} ${body}`;
}

/** What identifies a read within a scope, equal in every process: of unbounded length, and with the body. */
export function identityOfRead(read: Read<unknown>): string {
  const body = read.body ? JSON.stringify(read.body) : '';
  return `${read.method} ${read.path}?${sorted(read)} ${body}`;
}

/** Number of characters that callers determine: a read with long filters is remembered for a shorter time. */
export function readLength({ query = {} }: Read<unknown>): number {
  let length = 0;
  for (const name in query) length += query[name]?.length ?? 0;
  return length;
}

/** Names and values that a query contains unchanged. */
const PLAIN = /^[\w.*-]*$/;

function sorted({ query }: Read<unknown>): string {
  if (!query) return '';
  let text = '';
  for (const name of Object.keys(query).sort()) {
    const value = query[name] ?? '';
    if (!PLAIN.test(value) || !PLAIN.test(name)) return sortedAndEncoded(query);
    text += `${text && '&'}${name}=${value}`;
  }
  return text;
}

function sortedAndEncoded(query: Readonly<Record<string, string>>): string {
  const parameters = new URLSearchParams(query);
  parameters.sort();
  return parameters.toString();
}

/** The scope that a key begins with. */
export function scopeOfKey(key: string): string {
  return key.slice(0, key.indexOf(' '));
}
