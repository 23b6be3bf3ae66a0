import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createDice } from '../../soak/load.ts';
import { Cluster, LIMIT, WINDOW_MS } from '../../support/replicas/cluster.ts';
import { Press } from '../../support/replicas/press.ts';
import { VersionedUpstream } from '../../support/replicas/upstream.ts';
import { mostArrivals, mostHeld } from '../../support/replicas/window.ts';

/** Presses gateways that share nothing until each has spent what it takes for its own, twice. */
async function press(replicas: number) {
  await using upstream = await VersionedUpstream.start();
  await using cluster = await Cluster.start({ replicas, upstream, redisPort: null });
  const traffic = { askers: 10, writers: 4, readers: 4 };
  const press = new Press(cluster, traffic, createDice(1));
  // Their limits are met, and enough was written for somebody to miss it.
  while (upstream.requests.length < 2 * replicas * LIMIT) await pause(20);
  while (press.truth.tally.writes.confirmed < 20) await pause(20);
  await press.end();
  return {
    ...press.truth.tally,
    ...press.pressed,
    most: mostArrivals(upstream.requests, WINDOW_MS),
    held: mostHeld(upstream.requests, WINDOW_MS),
  };
}

describe.concurrent('What the replicas are held against', () => {
  it('finds nothing wrong with one gateway', async () => {
    const found = await press(1);
    expect(found.most).toBeLessThanOrEqual(LIMIT);
    expect(found.held).toBeLessThanOrEqual(LIMIT);
    expect(found.outdated).toEqual([]);
  });

  it('finds two that share nothing spending twice the limit and showing what is outdated', async () => {
    const found = await press(2);
    expect(found.most).toBeGreaterThan(LIMIT);
    expect(found.held).toBeGreaterThan(LIMIT);
    expect(found.outdated).not.toEqual([]);
    expect(found.pairs).toBeGreaterThan(0);
  });

  it('leaves a replica alone that is still starting', async () => {
    await using upstream = await VersionedUpstream.start();
    await using cluster = await Cluster.start({ replicas: 1, upstream, redisPort: null });
    const replica = cluster.replica(0);
    await replica.end('SIGKILL');
    const begun = replica.begin();
    replica.stopAtNextRequest();
    await begun;
    expect(replica.stopped).toBe(false);
  });

  it('stops a replica when it has decided to send, and not a byte has left', async () => {
    await using upstream = await VersionedUpstream.start();
    await using cluster = await Cluster.start({ replicas: 1, upstream, redisPort: null });
    const replica = cluster.replica(0);
    replica.stopAtNextRequest();
    const answer = cluster.ask(0, { query: '{ account { username } }' });
    while (!replica.stopped) await pause(10);
    // Bytes that had left would be here by now.
    await pause(200);
    expect(upstream.requests).toEqual([]);
    replica.continue();
    expect((await answer).data).toEqual({ account: { username: 'owner' } });
    expect(upstream.requests).toHaveLength(1);
  });
});
