import type { Digest } from '../../digest.ts';
import type { UpstreamName } from '../../errors.ts';
import type { Read } from '../request.ts';

/** What the keys and tags of one upstream and partition begin with. */
export function scopeOf(upstream: UpstreamName, partition: string): string {
  return `${upstream}:${partition}`;
}

/** Tags inside a scope. */
export function scopedTags(scope: string, tags: readonly string[]): string[] {
  return tags.map((tag) => `${scope} ${tag}`);
}

/** What an answer is cached under. Bodies can hold what must not be stored, so only their digest is in it. */
export function cacheKey(scope: string, read: Read<unknown>, digest: Digest): string {
  const query = new URLSearchParams(read.query);
  query.sort();
  const body = read.body ? digest(JSON.stringify(read.body)) : '';
  return `${scope} ${read.method} ${read.path}?${query} ${body}`;
}

/** The scope that a key begins with. */
export function scopeOfKey(key: string): string {
  return key.slice(0, key.indexOf(' '));
}
