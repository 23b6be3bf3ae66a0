import type { RedisServer } from '../redis-server.ts';
import { STATE } from './redis-insight.ts';

/** A way in which a Redis goes back to what it held before, as the same process with the same run id. */
export interface Rollback {
  readonly name: string;
  /** Keeps what it holds now. */
  readonly keep: (redis: RedisServer) => Promise<void>;
  /** Brings back what was kept, all at once. */
  readonly bring: (redis: RedisServer) => Promise<void>;
}

const TAGS = STATE.replace('state', 'tags');

async function script(redis: RedisServer, lua: string): Promise<void> {
  await redis.command('EVAL', lua, '2', STATE, TAGS);
}

/** All ways that need no second server. */
export const rollbacks: readonly Rollback[] = [
  {
    name: 'SWAPDB',
    async keep(redis) {
      await script(
        redis,
        `redis.call('SELECT', 1)
        redis.call('FLUSHDB')
        redis.call('SELECT', 0)
        for _, key in ipairs(KEYS) do redis.call('COPY', key, key, 'DB', 1) end`,
      );
    },
    bring: async (redis) => void (await redis.command('SWAPDB', '0', '1')),
  },
  {
    name: 'RESTORE',
    keep: (redis) =>
      script(
        redis,
        `for _, key in ipairs(KEYS) do
          redis.call('DEL', 'kept ' .. key)
          local dump = redis.call('DUMP', key)
          if dump then redis.call('SET', 'kept ' .. key, dump) end
        end`,
      ),
    bring: (redis) =>
      script(
        redis,
        `for _, key in ipairs(KEYS) do
          local dump = redis.call('GET', 'kept ' .. key)
          if dump then redis.call('RESTORE', key, 0, dump, 'REPLACE')
          else redis.call('DEL', key) end
        end`,
      ),
  },
];
