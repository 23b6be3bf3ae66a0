import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createPixel } from '../../../src/links/brand/pixel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Write } from '../../../src/upstream/request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { Disk, KeyedProcess, keyedSandbox, newKey, outcome, received } from './keyed-world.ts';

const PIXEL = '/api/pixel/add';
const pixel = createPixel({ type: 'GTM', name: 'Summer', tag: 'GTM-ABCDE' });
const SETTLE = 5000;
const LATER = 60_000;
const STEP = 1000;

let clock: VirtualClock;
let sandbox: Sandbox;
let disk: Disk;

beforeEach(async () => {
  clock = new VirtualClock();
  sandbox = await keyedSandbox(clock);
  disk = new Disk();
});

/** A process on the disk. The one before it was killed when it had saved its changes: nothing of it was closed. */
async function start(): Promise<KeyedProcess> {
  await clock.settle();
  return KeyedProcess.start(sandbox, { clock, disk });
}
const reads = (): string[] => received(sandbox, 'GET');
const adds = (): string[] => received(sandbox, 'POST');

/** A write with a caller that waits, until its process is killed. */
function begin<T>(
  process: KeyedProcess,
  key: string,
  write: Write<T>,
): { readonly kill: () => void } {
  const hangUp = new AbortController();
  const call = process.call({ key, maxWaitMs: LATER, signal: hangUp.signal });
  void outcome(call.links.write(write));
  onTestFinished(() => hangUp.abort());
  return { kill: () => hangUp.abort() };
}

/** Lets time pass until a promise is settled: to save a record takes a while of the machine's own. */
async function passing(result: Promise<unknown>): Promise<void> {
  const over = result.then(() => true);
  for (let ms = 0; ms < LATER; ms += STEP) {
    if (await Promise.race([over, clock.advance(STEP).then(() => false)])) return;
  }
}

/** The result of a write whose caller waits while time passes. */
async function written<T>(process: KeyedProcess, key: string, write: Write<T>) {
  const call = process.call({ key, maxWaitMs: LATER });
  const result = outcome(call.links.write(write));
  await passing(result);
  return { value: await result, report: call.report };
}

describe('after the process was killed', () => {
  it('a creation that was absent is not looked for again', async () => {
    const key = newKey();
    sandbox.links.fault({ kind: 'drop', path: PIXEL, times: 1 });
    const lost = { value: { code: 'OUTCOME_UNKNOWN' } };
    expect(await written(await start(), key, pixel)).toMatchObject(lost);
    expect(await written(await start(), key, pixel)).toMatchObject(lost);
    expect([adds().length, reads().length]).toEqual([1, 1]);
  });

  it('a creation whose caller had waited is found', async () => {
    const key = newKey();
    sandbox.links.fault({ kind: 'drop', applied: true, path: PIXEL, times: 1 });
    const { kill } = begin(await start(), key, pixel);
    await expect.poll(() => adds().length).toBe(1);
    await clock.settle();
    const next = await start();
    kill();
    const { report, value } = await written(next, key, pixel);
    expect(value).toMatchObject({ name: 'Summer' });
    expect(report).toMatchObject({ outcome: 'RECONCILED', upstreamCalls: 1 });
    expect(adds()).toHaveLength(1);
  });

  it('a creation is not confused with an equal one of a process before', async () => {
    const key = newKey();
    const process = await start();
    sandbox.links.fault({ kind: 'drop', path: PIXEL, times: 1 });
    await outcome(process.call({ key, maxWaitMs: 0 }).links.write(pixel));
    await clock.advance(SETTLE);
    const other = await written(process, newKey(), pixel);
    expect(other.value).toMatchObject({ name: 'Summer' });
    expect(await written(await start(), key, pixel)).toMatchObject({
      value: { code: 'OUTCOME_UNKNOWN' },
    });
    expect(adds()).toHaveLength(2);
  });
});
