import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Answer, World } from '../../support/gateway.ts';
import { describeWith, redisServer } from '../../support/needs.ts';
import { replicaStage } from '../../support/replica-worlds.ts';
import { CAMPAIGNS, type Campaigns, CREATE, change, codes, names } from './unknown-writes.ts';

describeWith(redisServer, 'After a write whose outcome is unknown to one replica', () => {
  const stage = replicaStage();

  async function three(env: Readonly<Record<string, string>> = {}) {
    return (await stage.start(3, { env })) as [World, World, World];
  }

  /** What a replica answers once it knows itself connected: a slow machine can keep it from that for a moment. */
  async function served(world: World): Promise<Answer<Campaigns>> {
    for (;;) {
      const answer = await world.ask<Campaigns>(CAMPAIGNS);
      if (answer.errors.length === 0) return answer;
      await pause(50);
    }
  }

  it.each(['stale', 'refuse'])(
    'each of them serves what was read before, also one that has not read it itself: %s',
    async (outage) => {
      const [a, b, c] = await three({ REDIS_OUTAGE_READS: outage });
      const before = await names(a);
      expect(await names(b)).toEqual(before);
      stage.sandbox.links.fault({ kind: 'error-500' });
      expect(codes(await a.ask(change(CREATE)))).toEqual(['OUTCOME_UNKNOWN']);
      for (const world of [a, b, c]) {
        const { data, receipt } = await served(world);
        expect(receipt.stale).toBe(1);
        expect(data.campaigns.nodes.map(({ name }) => name)).toEqual(before);
      }
    },
  );

  it('each of them shows the state after it as soon as it can be had', async () => {
    const [a, b, c] = await three();
    for (const world of [a, b]) await names(world);
    stage.sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });
    await a.ask(change(CREATE));
    for (const world of [b, c, a]) expect(await names(world)).toContain('new');
  });

  it('none shows the state before one that was answered by another', async () => {
    const [a, b, c] = await three();
    for (const world of [a, b]) await names(world);
    stage.sandbox.links.fault({ kind: 'drop', method: 'POST', times: 1 });
    await a.ask(change(CREATE));
    await b.data(change(CREATE));
    stage.sandbox.links.fault({ kind: 'error-500' });
    for (const world of [a, b, c]) expect((await world.ask(CAMPAIGNS)).errors).toHaveLength(1);
  });
});
