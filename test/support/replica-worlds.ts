import { afterAll, afterEach, beforeAll } from 'vitest';
import { type ProtocolTimes, protocolTimes } from '../../src/redis/times.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { startWorld, type World, type WorldOptions } from './gateway.ts';
import { RedisServer } from './redis-server.ts';

let prefixes = 0;

/** What gateways on one Redis are configured with: limits out of the way, and short times. */
const env = {
  LINKS_TIMEOUT_MS: '5000',
  LINKS_RATE_LIMIT: '500',
  LINKS_RATE_WINDOW_MS: '100',
  MARKET_TIMEOUT_MS: '5000',
  MARKET_RATE_LIMIT: '500',
  MARKET_RATE_WINDOW_MS: '100',
  REDIS_SECRET: 'a-secret-that-all-the-replicas-know',
};

/**
 * Times that outlast a machine on which processes stand still for seconds: no command is given up, and no lease or
 * permit runs out, unless a test makes it. A replica holds back what it sends until it knows how long Redis has
 * remembered; a caller waits for that, which `sendByMs` is a part of.
 */
export const patient: ProtocolTimes = {
  ...protocolTimes([100]),
  callMs: 15_000,
  leaseMs: 30_000,
  sendByMs: 3000,
};

/**
 * Gateways in this process, and in real time, that share a Redis in which nothing is cached, and which has
 * remembered everything for an hour: they need not wait. What each logs goes into its place in `logs`. Tests of what
 * happens when Redis is silent, or a replica is, set the times of the protocol.
 */
export async function startReplicas(
  count: number,
  redis: RedisServer,
  options: WorldOptions & { readonly logs?: readonly string[][] },
): Promise<World[]> {
  prefixes += 1;
  const prefix = `replicas${prefixes}`;
  const { logs, ...rest } = options;
  const own = { ...env, REDIS_URL: redis.url, REDIS_PREFIX: prefix, ...options.env };
  const worlds: World[] = [];
  for (let n = 0; n < count; n += 1) {
    const lines = logs?.[n];
    const log = lines && { log: { write: (line: string) => void lines.push(line) } };
    worlds.push(
      await startWorld({ protocolTimes: patient, ...rest, ...log, clock: systemClock, env: own }),
    );
  }
  await rememberForAnHour(redis, prefix);
  return worlds;
}

/** Replicas over one sandbox and one Redis, for all tests of a `describe`. */
export interface ReplicaStage {
  readonly sandbox: Sandbox;
  readonly redis: RedisServer;
  /** Starts replicas that end with their test, see `startReplicas`. */
  readonly start: (count: number, options?: WorldOptions) => Promise<World[]>;
}

/** Sets it up, with limits out of the way. The sandbox is reset after each test. */
export function replicaStage(): ReplicaStage {
  let sandbox: Sandbox;
  let redis: RedisServer;
  const open: World[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
    redis = await RedisServer.run();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((world) => world.close()));
    sandbox.reset();
  });
  afterAll(async () => {
    await sandbox.close();
    await redis.end();
  });
  return {
    get sandbox() {
      return sandbox;
    },
    get redis() {
      return redis;
    },
    async start(count, options) {
      const worlds = await startReplicas(count, redis, { on: sandbox, ...options });
      open.push(...worlds);
      return worlds;
    },
  };
}

/** In one step, since replicas would take an epoch that is written back later for a Redis that went back in time. */
const AN_HOUR_EARLIER = `
local text = redis.call('HGET', KEYS[1], '#')
if not text then return 0 end
local epoch = cjson.decode(text)
epoch.since = epoch.since - 3600000
return redis.call('HSET', KEYS[1], '#', cjson.encode(epoch)) + 1
`;

/** Lets those with a prefix, of whom one has begun, believe that Redis has remembered everything for an hour. */
export async function rememberForAnHour(redis: RedisServer, prefix: string): Promise<void> {
  let done: unknown = 0;
  while (done === 0) {
    done = await redis.command('EVAL', AN_HOUR_EARLIER, '1', `{${prefix}:1}:state`);
  }
}
