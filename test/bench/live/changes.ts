import { setTimeout as pause } from 'node:timers/promises';
import { type Figure, percentile } from '../report/measurement.ts';
import { Scene } from './scene.ts';

const VIEWERS = 1000;
/** The first ones of a process are slow for reasons of their own. */
const BEFORE = 40;
const CHANGES = 250;
/** Of which the median counts: the machine has other things to do, too. */
const ROUNDS = 5;
const REST_MS = 20;

/** What changes by the gateway's own mutations cost, and when they are seen. */
export async function changes(): Promise<Figure[]> {
  await using scene = await Scene.set();
  const viewers = scene.viewers('age');
  await viewers.open(VIEWERS);
  const pages = scene.pages.bodies.length;
  const took = Array.from({ length: ROUNDS }, (): number[] => []);
  const last: number[] = [];
  let before = 0;
  for (let n = -BEFORE; n < CHANGES; n += 1) {
    if (n === 0) before = await scene.runs();
    const name = `Changed ${scene.changes + 1} times`;
    const seen = viewers.sees(name);
    const { at } = await scene.change();
    const moments = (await seen).map((moment) => Math.max(0, moment - at));
    if (n >= 0) {
      took[Math.floor((n / CHANGES) * ROUNDS)]?.push(...moments);
      last.push(Math.max(...moments));
    }
    await pause(REST_MS);
  }
  const p99s = took.map((moments) => percentile(moments, 0.99));
  const runs = (await scene.runs()) - before;
  return [
    {
      label: `time from the response to a mutation until the event on each of ${VIEWERS} streams, p99`,
      value: percentile(p99s, 0.5),
      unit: ' ms',
      target: { atMost: 100 },
      note: `the median of ${ROUNDS} rounds, the worst ${Math.max(...p99s).toFixed(0)} ms; p50 ${percentile(took.flat(), 0.5).toFixed(0)} ms; the last of all p50 ${percentile(last, 0.5).toFixed(0)} ms; ${CHANGES} mutations`,
    },
    {
      label: 'executions of a query per change, for all its viewers',
      value: runs / CHANGES / pages,
      digits: 2,
      target: { atMost: 1 },
      note: `${runs} runs for ${CHANGES} changes on ${pages} pages`,
    },
  ];
}
