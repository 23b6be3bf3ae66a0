import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConsoleState } from '../../src/console/console-state.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { consoleState } from '../support/console-viewer.ts';
import type { World } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { startReplicas } from '../support/replica-worlds.ts';

describeWith(redisServer, 'The console of a replica', () => {
  let sandbox: Sandbox;
  let redis: RedisServer;
  let worlds: World[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: 500 } });
    redis = await RedisServer.run();
    const env = {
      LINKS_RATE_WINDOW_MS: '60000',
      LINKS_RATE_LIMIT: '500',
      PORT: '0',
    };
    worlds = await startReplicas(2, redis, { on: sandbox, env });
  });
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.close()));
    await sandbox.close();
    await redis.end();
  });

  it('distinguishes its own slots from those of other replicas, and names these', async () => {
    const [here, there] = worlds as [World, World];
    const urls = await Promise.all(worlds.map(({ gateway }) => gateway.listen()));
    // Both have heard that Redis remembers for long.
    for (const { url } of urls)
      await shown(url, ({ readiness }) => readiness.degraded.length === 0);
    await here.ask('{ account { username } }');
    await there.ask('{ pixels { totalCount } campaigns { totalCount } }');
    const [state, other] = [await heard(urls[0]?.url ?? ''), await heard(urls[1]?.url ?? '')];
    const slotsOf = ({ upstreams }: typeof state) =>
      upstreams[0]?.slots.map(({ owner, resource }) => `${owner} ${resource}`).sort();
    expect(slotsOf(state)).toEqual(['interactive account', 'replica null', 'replica null']);
    expect(slotsOf(other)).toEqual(['interactive campaigns', 'interactive pixels', 'replica null']);
    expect(state.upstreams[0]?.free).toBe(497);
    const ends = state.upstreams[0]?.slots.map(({ freeInMs }) => freeInMs ?? 0) ?? [];
    expect(Math.min(...ends)).toBeGreaterThan(0);
    expect(state.replicas).toHaveLength(2);
    expect(state.replicas?.map(({ self }) => self)).toEqual([true, false]);
    const [self, fellow] = state.replicas ?? [];
    const [otherSelf, otherFellow] = other.replicas ?? [];
    expect([fellow?.name, otherFellow?.name]).toEqual([otherSelf?.name, self?.name]);
    expect(fellow?.sentMsAgo).toEqual(expect.any(Number));
    const { foreign, interactive } = state.upstreams[0]?.history ?? {};
    const sum = (column: readonly number[] = []) => column.reduce((all, each) => all + each, 0);
    expect([sum(interactive), sum(foreign)]).toEqual([1, 2]);
  });

  /** The state, once all three requests are answered as far as this one has heard. */
  function heard(url: string): Promise<ConsoleState> {
    return shown(url, ({ upstreams }) => {
      const slots = upstreams[0]?.slots ?? [];
      return slots.length === 3 && slots.every(({ freeInMs }) => freeInMs !== null);
    });
  }

  /** The first state that is as it should be. */
  async function shown(url: string, is: (state: ConsoleState) => boolean): Promise<ConsoleState> {
    for (;;) {
      const state = await consoleState(url);
      if (is(state)) return state;
    }
  }
});
