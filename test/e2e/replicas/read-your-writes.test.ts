import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { expectWhole } from '../../support/replicas/held.ts';
import { Press } from '../../support/replicas/press.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { Truth } from '../../support/replicas/truth.ts';

/** `REPLICAS_PAIRS=100000` for the long form. */
const pairs = Number(process.env['REPLICAS_PAIRS'] ?? 1000);
/** As many as Redis keeps account of: the subject is writes, not waiting for a slot. */
const LIMIT = 400;
/** Longer than replicas hold requests back after the machine has stopped them all for seconds. */
const MAX_WAIT_MS = 60_000;

describeWith(redisServer, 'A write that was answered by one replica', () => {
  it(`is what all others show from then on (${pairs} pairs)`, async () => {
    const env = { LINKS_RATE_LIMIT: String(LIMIT), MAX_WAIT_MS: String(MAX_WAIT_MS) };
    await using scene = await Scene.set({ env });
    // Of what replicas report each other, every tenth message is lost.
    const { links } = scene.cluster;
    for (const link of links) link.loses = () => scene.roll(10) === 0;
    const press = new Press(scene.cluster, { writers: 6, readers: 1, restMs: 20 }, scene.roll);
    while (press.pressed.pairs < pairs && press.truth.tally.outdated.length === 0) {
      await pause(50);
    }
    await press.end();
    expectWhole(scene, press, { limit: LIMIT });
    expect(links.every(({ lost }) => lost > 0)).toBe(true);
    expect(press.truth.tally.outdatedStale).toEqual([]);
    expect(press.truth.tally.codes).toEqual({});
  }, 3_600_000);

  it('is shown by the others although its writer was killed before it could report', async () => {
    await using scene = await Scene.set({ env: { 'ttl.campaigns': '600000' } });
    const { cluster, upstream } = scene;
    const truth = new Truth(cluster);
    // All of them have what was there before, and would show it for a long time.
    for (const replica of [0, 1, 2]) await truth.read(replica, 'campaigns');
    upstream.conduct.onEffect = () => void cluster.replica(0).end('SIGKILL');
    expect(await truth.write(0, 'campaigns', 1)).toBe(false);
    expect(truth.tally.writes).toEqual({ confirmed: 0, unknown: 1, failed: 0 });
    const { name } = upstream.rows.list('campaigns')[0] ?? {};
    for (const replica of [1, 2]) {
      while ((await shown(scene, replica)) !== name) await pause(20);
    }
    expect(upstream.requestsTo(/campaigns/).length).toBeLessThanOrEqual(3);
  });

  it('is shown by the others although its writer was cut off before it could report', async () => {
    await using scene = await Scene.set({ env: { 'ttl.campaigns': '600000' } });
    const { cluster, upstream } = scene;
    const truth = new Truth(cluster);
    for (const replica of [0, 1, 2]) await truth.read(replica, 'campaigns');
    upstream.conduct.onEffect = () => cluster.link(0).become('silent');
    expect(await truth.write(0, 'campaigns', 1)).toBe(true);
    for (const replica of [1, 2]) expect(await truth.read(replica, 'campaigns')).toBe('right');
    cluster.link(0).become('open');
    expect(truth.tally.outdated).toEqual([]);
  });
});

async function shown({ cluster }: Scene, replica: number): Promise<string | undefined> {
  const query = '{ campaigns(first: 4) { nodes { name } } }';
  const { data } = await cluster.ask(replica, { query });
  return (data?.['campaigns'] as { nodes: { name: string }[] } | null)?.nodes[0]?.name;
}
