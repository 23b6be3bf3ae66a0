import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { LIMIT, WINDOW_MS } from '../../support/replicas/cluster.ts';
import { Press } from '../../support/replicas/press.ts';
import type { QuotaOptions } from '../../support/replicas/quota.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { mostArrivals } from '../../support/replicas/window.ts';

const WINDOWS = 4;

/** Presses two replicas for some windows, until much was sent, and reports what the upstream made of it. */
async function press(quota: Partial<QuotaOptions>, others = 0) {
  await using scene = await Scene.set({
    replicas: 2,
    quota: {
      requests: LIMIT,
      windowMs: WINDOW_MS,
      mode: 'sliding',
      tells: true,
      refuses: true,
      ...quota,
    },
  });
  const { requests } = scene.upstream;
  const before = requests.length;
  const press = new Press(scene.cluster, { askers: 12 }, scene.roll);
  let windows = 0;
  for (; windows < WINDOWS || requests.length < before + 2 * LIMIT; windows += 1) {
    scene.upstream.spend(others);
    await pause(WINDOW_MS);
  }
  await press.end();
  return {
    most: mostArrivals(requests, WINDOW_MS),
    windows,
    refused: requests.filter(({ status }) => status === 429).length,
    story: scene.story(requests),
  };
}

describeWith(redisServer, 'Replicas whose upstream', () => {
  describe.concurrent('', () => {
    it.each(['sliding', 'fixed'] as const)(
      'announces what is left of a %s window use it up and are never refused',
      async (mode) => {
        const { most, refused, story } = await press({ mode });
        expect(refused, story).toBe(0);
        expect(most).toBeLessThanOrEqual(LIMIT);
      },
    );

    it('announces a lower limit than they were told keep that one, all of them', async () => {
      const lower = 20;
      const { most, refused, story } = await press({ requests: lower });
      expect(refused, story).toBe(0);
      expect(most).toBeLessThanOrEqual(lower);
    });

    it('is used by somebody else as well are refused now and then only', async () => {
      const others = 10;
      const { most, refused, windows, story } = await press({}, others);
      expect(refused, story).toBeLessThanOrEqual(4 * windows);
      expect(most).toBeLessThanOrEqual(LIMIT);
    });
  });
});
