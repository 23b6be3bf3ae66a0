import { SEALED_FORMAT } from '../../storage/sealing.ts';

/** The names of an installation in Redis. All begin with one prefix, whose hash tag keeps them on one node. */
export interface RedisNames {
  /** The keys of every script: the state, and the tags with the writes that touched them last. */
  readonly keys: readonly [state: string, tags: string];
  readonly channel: string;
  /** The key of a response. */
  readonly entry: (name: string) => string;
}

/** The names of an installation with this `REDIS_PREFIX`. */
export function redisNames(prefix: string): RedisNames {
  const base = `{${prefix}:${SEALED_FORMAT}}`;
  return {
    keys: [`${base}:state`, `${base}:tags`],
    channel: `${base}:ch`,
    entry: (name) => `${base}:e:${name}`,
  };
}
