import { setTimeout as pause } from 'node:timers/promises';
import { HOLD_MS, TIMEOUT_MS } from './cluster.ts';
import { STATE, setClock } from './redis-insight.ts';
import { rollbacks } from './rollback.ts';
import type { Scene } from './scene.ts';

/** Something that goes wrong, and ends. */
export interface Fault {
  readonly name: string;
  /** What it happens to; `turn` is that of a replica in which a request leaves. */
  readonly party: 'replica' | 'turn' | 'link' | 'redis' | 'upstream';
  /** Whether it needs a second Redis that follows. */
  readonly failover?: true;
  /** Lets it happen; resolves when it is over. */
  readonly strike: (scene: Scene) => Promise<void>;
}

/** Everything that the limit must survive. */
export const faults: readonly Fault[] = [
  {
    name: 'a replica is killed and started again',
    party: 'replica',
    async strike({ cluster, anyReplica, roll }) {
      const replica = cluster.replica(anyReplica());
      await replica.end('SIGKILL');
      await pause(roll(500));
      await replica.begin();
    },
  },
  {
    name: 'ghosts: a replica is killed again and again, as soon as it has sent something',
    party: 'replica',
    async strike({ cluster, anyReplica, upstream }) {
      const replica = cluster.replica(anyReplica());
      for (let nth = 0; nth < 5; nth += 1) {
        const { length } = upstream.requests;
        // Where nothing may be sent just now, it dies without having sent anything.
        for (let waited = 0; upstream.requests.length === length && waited < 100; waited += 1) {
          await pause(10);
        }
        await replica.end('SIGKILL');
        await replica.begin();
      }
    },
  },
  {
    name: 'a replica sleeps for longer than it may hold anything',
    party: 'replica',
    async strike({ cluster, anyReplica, roll }) {
      const replica = cluster.replica(anyReplica());
      replica.stop();
      await pause(500 + roll(HOLD_MS));
      replica.continue();
    },
  },
  {
    name: 'a replica sleeps between its last check and the bytes of a request',
    party: 'turn',
    async strike({ cluster, anyReplica, roll }) {
      const replica = cluster.replica(anyReplica());
      replica.stopAtNextRequest();
      // Where nothing may be sent just now, there is no next request for a while.
      for (let waited = 0; !replica.stopped && waited < 100; waited += 1) await pause(50);
      await pause(HOLD_MS - 500 + roll(1500));
      replica.continue();
    },
  },
  {
    name: 'all connections to Redis are broken, again and again',
    party: 'redis',
    async strike({ redis, roll }) {
      for (let nth = 0; nth < 5; nth += 1) {
        await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await pause(100 + roll(400));
      }
    },
  },
  {
    name: 'Redis forgets its scripts, again and again',
    party: 'redis',
    async strike({ redis, roll }) {
      for (let nth = 0; nth < 8; nth += 1) {
        await redis.command('SCRIPT', 'FLUSH');
        await pause(roll(300));
      }
    },
  },
  {
    name: 'Redis is killed and comes back',
    party: 'redis',
    async strike({ redis, roll }) {
      await redis.kill();
      await pause(roll(1000));
      await redis.start();
    },
  },
  {
    name: 'Redis is emptied',
    party: 'redis',
    strike: async ({ redis }) => void (await redis.command('FLUSHALL')),
  },
  {
    name: 'the budgets are deleted',
    party: 'redis',
    strike: async ({ redis }) => void (await redis.command('DEL', STATE)),
  },
  {
    name: 'the clock of Redis is set an hour forward',
    party: 'redis',
    strike: ({ redis }) => setClock(redis, 3_600_000),
  },
  {
    name: 'the clock of Redis is set an hour back',
    party: 'redis',
    strike: ({ redis }) => setClock(redis, -3_600_000),
  },
  {
    name: 'Redis does nothing for a while',
    party: 'redis',
    async strike({ redis, roll }) {
      await redis.command('DEBUG', 'SLEEP', String(0.3 + roll(3000) / 1000));
    },
  },
  {
    name: 'Redis is frozen for longer than any lease',
    party: 'redis',
    async strike({ redis, roll }) {
      redis.stop();
      await pause(1500 + roll(3000));
      redis.cont();
    },
  },
  {
    name: 'the user of Redis loses permissions, one after the other',
    party: 'redis',
    async strike({ redis, roll }) {
      for (const name of ['zadd', 'publish', 'hdel', 'mget', 'set']) {
        await redis.command('ACL', 'SETUSER', 'default', `-${name}`);
        await pause(200 + roll(500));
        await redis.command('ACL', 'SETUSER', 'default', `+${name}`);
        await pause(roll(200));
      }
    },
  },
  {
    name: 'Redis is too small, and evicts the budgets again and again',
    party: 'redis',
    async strike({ redis, roll }) {
      await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
      await redis.command('CONFIG', 'SET', 'maxmemory', '100kb');
      await pause(3000 + roll(2000));
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    },
  },
  {
    name: 'one Redis fails and another that followed it goes on',
    party: 'redis',
    failover: true,
    async strike(scene) {
      const { redis, follower, cluster, roll } = scene;
      if (!follower) throw new Error('nothing follows this Redis');
      await redis.kill();
      await pause(roll(500));
      await follower.command('REPLICAOF', 'NO', 'ONE');
      for (const link of cluster.links) link.leadTo(follower.port);
      await redis.start();
      await redis.command('REPLICAOF', '127.0.0.1', String(follower.port));
      scene.redis = follower;
      scene.follower = redis;
    },
  },
  {
    name: 'rollback: another that followed Redis goes on, and then the first again with what it had',
    party: 'redis',
    failover: true,
    async strike({ redis, follower, cluster }) {
      if (!follower) throw new Error('nothing follows this Redis');
      await follower.command('REPLICAOF', 'NO', 'ONE');
      for (const link of cluster.links) link.leadTo(follower.port);
      // Until the other has granted something.
      await pause(HOLD_MS + 1000);
      for (const link of cluster.links) link.leadTo(redis.port);
      await follower.command('REPLICAOF', '127.0.0.1', String(redis.port));
    },
  },
  ...rollbacks.map(
    ({ name, keep, bring }): Fault => ({
      name: `rollback: Redis goes back in time by ${name}`,
      party: 'redis',
      async strike({ redis, roll }) {
        await keep(redis);
        await pause(1000 + roll(1000));
        await bring(redis);
      },
    }),
  ),
  {
    name: 'foreign secret: a replica with another one is there, and Redis pauses for longer than a lease',
    party: 'redis',
    async strike({ cluster, redis }) {
      await using stranger = cluster.stranger({
        REDIS_SECRET: 'quite-another-secret-than-theirs-is',
      });
      await stranger.listens();
      for (let nth = 0; nth < 3; nth += 1) {
        await redis.command('DEBUG', 'SLEEP', '1.5');
        await pause(200);
      }
    },
  },
  {
    name: 'Redis reads anew what it has just written down',
    party: 'redis',
    strike: async ({ redis }) => void (await redis.command('DEBUG', 'RELOAD')),
  },
  ...(['noeviction', 'volatile-lru', 'allkeys-lru'] as const).map(
    (policy): Fault => ({
      name: `Redis is full, with the policy ${policy}`,
      party: 'redis',
      async strike({ redis }) {
        await redis.command('CONFIG', 'SET', 'maxmemory-policy', policy);
        // Less than it has with nothing in it.
        await redis.command('CONFIG', 'SET', 'maxmemory', '100kb');
        await pause(1500);
        await redis.command('CONFIG', 'SET', 'maxmemory', '0');
      },
    }),
  ),
  {
    name: 'the link of one replica is silent, and delivers late',
    party: 'link',
    async strike({ cluster, anyReplica, roll }) {
      const link = cluster.link(anyReplica());
      link.become('silent');
      await pause(200 + roll(HOLD_MS));
      link.become('open');
    },
  },
  {
    name: 'the link of one replica is refused',
    party: 'link',
    async strike({ cluster, anyReplica, roll }) {
      const link = cluster.link(anyReplica());
      link.become('refused');
      await pause(200 + roll(HOLD_MS));
      link.become('open');
    },
  },
  {
    name: 'the link of one replica is slow',
    party: 'link',
    async strike({ cluster, anyReplica, roll }) {
      const link = cluster.link(anyReplica());
      link.delayMs = 10 + roll(200);
      await pause(500 + roll(2000));
      link.delayMs = 0;
    },
  },
  {
    name: 'the upstream takes longer than it may',
    party: 'upstream',
    async strike({ upstream, usualDelays, roll }) {
      upstream.conduct.delays = () => [roll(2 * TIMEOUT_MS), roll(2 * TIMEOUT_MS)];
      await pause(2000);
      upstream.conduct.delays = usualDelays;
    },
  },
];
