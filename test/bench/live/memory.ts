import { setTimeout as pause } from 'node:timers/promises';
import type { Figure } from '../report/measurement.ts';
import { Scene } from './scene.ts';

const KB = 1024;
const IDLE = 1500;
const STALLED = 50;
const CHANGES = 200;
const SETTLED_MS = 1000;
/** Until queries without viewers are forgotten. */
const DESERTED_MS = 5500;

/** What streams take in the gateway on which nothing happens, and those that are not read. */
export async function memory(): Promise<Figure[]> {
  await using scene = await Scene.set();
  const warm = scene.viewers('plain');
  await warm.open(300);
  for (let n = 0; n < 100; n += 1) await scene.change();
  warm.close();
  return [await idle(scene), await stalled(scene)];
}

async function idle(scene: Scene): Promise<Figure> {
  await pause(DESERTED_MS);
  const before = await scene.inside();
  const viewers = scene.viewers('age');
  await viewers.open(IDLE);
  const after = await scene.inside();
  viewers.close();
  const each = (kind: 'held' | 'rss') => (after[kind] - before[kind]) / IDLE / KB;
  return {
    label: `memory of an idle stream, of ${IDLE}`,
    value: each('held'),
    unit: ' KB',
    digits: 1,
    target: { atMost: 20 },
    note: `resident ${each('rss').toFixed(1)} KB`,
  };
}

/** They come and go between two looks, so that whatever else has changed counts for nothing. */
async function stalled(scene: Scene): Promise<Figure> {
  const { large } = scene.pages;
  const reader = scene.viewers('plain', [large]);
  await reader.open(1);
  const viewers = scene.viewers('plain', [large]);
  await viewers.open(STALLED);
  viewers.stall();
  const read = reader.received;
  for (let n = 0; n < CHANGES; n += 1) {
    const seen = reader.sees(`Changed ${scene.changes + 1} times`);
    await scene.change();
    await seen;
  }
  const sent = reader.received - read;
  await pause(SETTLED_MS);
  const before = await scene.inside();
  const began = viewers.received;
  viewers.resume();
  await pause(SETTLED_MS);
  const waited = (viewers.received - began) / STALLED;
  viewers.close();
  await pause(SETTLED_MS);
  const after = await scene.inside();
  return {
    label: `memory for a client that does not read, of ${STALLED}`,
    value: (before.held - after.held) / STALLED / KB,
    unit: ' KB',
    digits: 1,
    target: { atMost: 64 },
    note: `${CHANGES} results of ${(sent / CHANGES / KB).toFixed(0)} KB, ${mb(sent)} MB in total; these got ${mb(waited)} MB once they read again`,
  };
}

function mb(bytes: number): string {
  return (bytes / KB / KB).toFixed(1);
}
