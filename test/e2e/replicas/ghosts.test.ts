import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { HOLD_MS, WINDOW_MS } from '../../support/replicas/cluster.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { mostArrivals } from '../../support/replicas/window.ts';

const LIMIT = 6;

/** Kills a replica with a request on the wire, and starts it again. */
async function crash({ cluster, upstream }: Scene, replica: number, id: number): Promise<void> {
  const before = upstream.requests.length;
  const asked = cluster.ask(replica, { query: `{ user(id: "${id}") { email } }` });
  asked.catch(() => undefined);
  while (upstream.requests.length === before) await pause(5);
  await cluster.replica(replica).end('SIGKILL');
  await cluster.replica(replica).begin();
  await cluster.ready(replica);
}

describeWith(
  redisServer,
  'A replica that is killed again and again with a request on the wire',
  () => {
    describe.concurrent('', () => {
      it('costs the others a share of the limit, and every replica says so', async () => {
        await using scene = await Scene.set({
          replicas: 2,
          env: { LINKS_RATE_LIMIT: String(LIMIT) },
        });
        const { cluster, upstream } = scene;
        upstream.conduct.delays = ({ path }) => [/user\/1\d\d$/.test(path) ? Infinity : 0, 0];
        for (let nth = 0; nth < LIMIT + 2; nth += 1) await crash(scene, 0, 100 + nth);
        // Whatever was on the wire is certainly over.
        await pause(HOLD_MS);
        const began = performance.now();
        for (let id = 200; id < 200 + 2 * LIMIT; id += 1) {
          const { errors } = await cluster.ask(1, {
            query: `{ user(id: "${id}") { email } }`,
            headers: { prefer: 'wait=20' },
          });
          expect(errors).toBeUndefined();
        }
        const since = upstream.requests.filter(({ at }) => at >= began);
        // One slot is withheld, and no more.
        expect(mostArrivals(since, WINDOW_MS)).toBe(LIMIT - 1);
        expect(mostArrivals(upstream.requests, WINDOW_MS)).toBeLessThanOrEqual(LIMIT);
        for (const replica of [0, 1]) {
          const { status, body } = await cluster.replica(replica).readiness();
          expect(status).toBe(200);
          expect(body['degraded']).toEqual([
            {
              reason: 'ghost-slots',
              upstream: 'LINKS',
              slots: 1,
              retryAfterMs: expect.any(Number) as number,
            },
          ]);
        }
        const metrics = await (await fetch(`${cluster.replica(1).url}/metrics`)).text();
        expect(metrics).toContain('gateway_budget_ghost_slots{upstream="LINKS"} 1');
      });
    });
  },
);
