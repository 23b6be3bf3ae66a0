import { describe, expect, it } from 'vitest';
import { createDice } from '../../soak/load.ts';
import { Cluster, LIMIT, WINDOW_MS } from '../../support/replicas/cluster.ts';
import { Press } from '../../support/replicas/press.ts';
import { VersionedUpstream } from '../../support/replicas/upstream.ts';
import { mostArrivals, mostHeld } from '../../support/replicas/window.ts';

/** Presses gateways that share nothing until each has had the time to spend what it takes for its own. */
async function press(replicas: number) {
  await using upstream = await VersionedUpstream.start();
  await using cluster = await Cluster.start({ replicas, upstream, redisPort: null });
  const traffic = { askers: 2 * LIMIT, writers: 2, readers: 2 };
  const press = new Press(cluster, traffic, createDice(1));
  while (upstream.requests.length < 3 * replicas * LIMIT) {
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
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
    expect(found.writes.confirmed).toBeGreaterThan(0);
  });

  it('finds two that share nothing spending twice the limit and showing what is outdated', async () => {
    const found = await press(2);
    expect(found.most).toBeGreaterThan(LIMIT);
    expect(found.held).toBeGreaterThan(LIMIT);
    expect(found.outdated).not.toEqual([]);
    expect(found.pairs).toBeGreaterThan(0);
  });
});
