/** Part of every key. What scripts store has a format of its own: see the fingerprint. */
const FORMAT = 1;

/** What an installation calls its things in Redis. All begin with one prefix, whose hash tag keeps them on one node. */
export interface RedisNames {
  /** The keys of every script: the state, and the tags with the writes that touched them last. */
  readonly keys: readonly [state: string, tags: string];
  readonly channel: string;
  /** The key that an answer is kept by. */
  readonly entry: (name: string) => string;
}

/** The names of an installation with this `REDIS_PREFIX`. */
export function redisNames(prefix: string): RedisNames {
  const base = `{${prefix}:${FORMAT}}`;
  return {
    keys: [`${base}:state`, `${base}:tags`],
    channel: `${base}:ch`,
    entry: (name) => `${base}:e:${name}`,
  };
}
