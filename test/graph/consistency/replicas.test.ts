import * as fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import type { World } from '../../support/gateway.ts';
import { describeWith, redisServer } from '../../support/needs.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { startReplicas } from '../../support/replica-worlds.ts';
import { rounds } from '../../support/rounds.ts';
import { Play, steps, TTL, turn } from './play.ts';
import { themes } from './themes.ts';
import { Truth } from './truth.ts';

const ttls = ['campaigns', 'channels', 'channelItems', 'pixels', 'qrCodes', 'qrStatistics'];
const env = {
  ...Object.fromEntries([...ttls, 'users', 'account'].map((name) => [`ttl.${name}`, `${TTL}`])),
  MAX_WAIT_MS: '600000',
};
const REPLICAS = 3;

let sandbox: Sandbox;
let redis: RedisServer;

describeWith(redisServer, 'over replicas', () => {
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
    redis = await RedisServer.run();
  });
  afterAll(async () => {
    await sandbox.close();
    await redis.end();
  });

  it.each(themes)(
    'no read that begins after a write shows $name as before it',
    async ({ start, views, changes }) => {
      const numRuns = rounds(8);
      await fc.assert(
        fc.asyncProperty(steps, fc.infiniteStream(fc.nat(REPLICAS - 1)), async (schedule, who) => {
          sandbox.reset();
          const worlds = await startReplicas(REPLICAS, redis, { on: sandbox, only: 'links', env });
          // The first request after a start goes alone: held, it would hold up all others.
          for (const { data } of worlds) await data('{ plans { databaseId } }');
          try {
            const truth = new Truth(start);
            const ask: World['ask'] = (...question) =>
              (worlds[who.next().value ?? 0] as World).ask(...question);
            // Time passes by itself here.
            const pass = () => turn(20);
            const play = new Play({ sandbox, ask, pass, truth, views, changes });
            for (const step of schedule) await play.step(step);
            await play.end();
            // What has settled by now is shown once more, by each of them.
            for (const world of worlds) {
              const last = new Play({ sandbox, ask: world.ask, pass, truth, views, changes });
              await Promise.all([...new Set(views)].map((view) => last.read(view)));
              for (const sighting of last.sightings) truth.check(sighting);
            }
            for (const sighting of play.sightings) truth.check(sighting);
          } finally {
            await Promise.all(worlds.map((world) => world.close()));
          }
        }),
        { numRuns },
      );
    },
    300_000,
  );
});
