import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { LIMIT, WINDOW_MS } from './cluster.ts';
import { Press } from './press.ts';
import type { Scene } from './scene.ts';
import { mostArrivals } from './window.ts';

/** What callers may be answered while replicas, Redis or the upstream fail. */
const codes = /^(BUDGET_EXHAUSTED|UPSTREAM_UNAVAILABLE|UPSTREAM_TIMEOUT|OUTCOME_UNKNOWN)$/;

/**
 * Holds what came of a press against what replicas promise: never more than the limit in any window from
 * `sinceMs` on, no answer older than what was confirmed before it was asked for, no unnamed error, and an answer
 * each time from what a process has cached.
 */
export function expectWhole(
  { upstream, story }: Scene,
  { truth, pressed }: Press,
  options: {
    readonly limit?: number;
    readonly sinceMs?: number;
    readonly events?: readonly string[];
  } = {},
): void {
  const { limit = LIMIT, sinceMs = 0, events = [] } = options;
  const { outdated, outdatedStale, rejuvenated, writes, reads } = truth.tally;
  const refused = { ...truth.tally.codes, ...pressed.codes };
  const stale = outdatedStale.length;
  const found = { writes, reads, outdatedStale: stale, ...pressed, codes: refused };
  const requests = upstream.requests.filter(({ at }) => at >= sinceMs);
  const most = mostArrivals(requests, WINDOW_MS);
  const cold = pressed.warmFailures.length > 0;
  const fails = [
    most > limit,
    outdated.length > 0,
    rejuvenated.length > 0,
    reads.fresh === 0,
    cold,
  ];
  const why = fails.includes(true) ? `${JSON.stringify(found)}\n${story(requests, events)}` : '';
  expect(most, why).toBeLessThanOrEqual(limit);
  expect(outdated, why).toEqual([]);
  expect(rejuvenated, why).toEqual([]);
  expect(Object.keys(refused).filter((code) => !codes.test(code))).toEqual([]);
  expect(upstream.unknown).toEqual([]);
  expect(reads.fresh, why).toBeGreaterThan(0);
  expect(pressed.warmFailures, why).toEqual([]);
  expect(pressed.warm, why).toBeGreaterThan(0);
}

/** Presses a scene before, during and for two windows or more after something that happens to it. */
export async function survive(
  scene: Scene,
  strike: (scene: Scene) => Promise<void>,
): Promise<void> {
  const { requests } = scene.upstream;
  // What was sent just before may still fill the first window.
  const sinceMs = performance.now() - WINDOW_MS;
  const press = new Press(scene.cluster, { askers: 8, writers: 1, readers: 1 }, scene.roll);
  await pause(WINDOW_MS / 2);
  const events = [`${performance.now().toFixed(0)} begins`];
  await strike(scene);
  events.push(`${performance.now().toFixed(0)} is over`);
  const then = requests.length;
  const over = performance.now() + 2 * WINDOW_MS;
  // Who sends nothing breaks no limit either.
  while (requests.length < then + LIMIT || performance.now() < over) await pause(20);
  await press.end();
  expectWhole(scene, press, { sinceMs, events });
}
