import { beforeEach, describe, expect, it } from 'vitest';
import type { GatewayError } from '../../../src/errors.ts';
import { createPixel } from '../../../src/links/brand/pixel.ts';
import { channels, createChannel } from '../../../src/links/content/channel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { KeyedProcess, keyedSandbox, newKey, outcome, received } from './keyed-world.ts';

const ADD = '/api/pixel/add';
const pixel = createPixel({ type: 'GTM', name: 'Summer', tag: 'GTM-ABCDE' });
const SETTLE = 5000;
const LATER = 30_000;

let sandbox: Sandbox;
let process: KeyedProcess;
let key: string;

beforeEach(async () => {
  const clock = new VirtualClock();
  sandbox = await keyedSandbox(clock);
  process = await KeyedProcess.start(sandbox, { clock });
  key = newKey();
});

/** Number of pixels with this name, by the API itself. */
async function pixelsMade(): Promise<number> {
  const authorization = `Bearer ${sandbox.links.key}`;
  const headers = { authorization, connection: 'close', 'user-agent': 'a test' };
  const response = await fetch(`${sandbox.links.url}/api/pixels?limit=100`, { headers });
  const { data } = (await response.json()) as { data: { pixels: { name: string }[] } };
  return data.pixels.filter(({ name }) => name === 'Summer').length;
}
const adds = (): number => received(sandbox, 'POST').length;
const reads = (): string[] => received(sandbox, 'GET');

/** Lets a write run while time goes on. */
async function ended<T>(promise: Promise<T>, ms = 60_000): Promise<T | Error> {
  const result = outcome(promise);
  await process.clock.advance(ms);
  return result;
}

describe('a creation whose response was lost', () => {
  it('is told at once to a caller that does not wait until it settles', async () => {
    sandbox.links.fault({ kind: 'drop', applied: true, path: ADD, times: 1 });
    const lost = await outcome(process.call({ key, maxWaitMs: SETTLE - 1 }).links.write(pixel));
    const settlesAt = new Date(process.records.now + SETTLE).toISOString();
    expect(lost).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      details: { settlesAt, retryAfterMs: SETTLE },
    });
    await process.clock.advance(SETTLE);
    const call = process.call({ key });
    expect(await call.links.write(pixel)).toMatchObject({ name: 'Summer' });
    expect(call.report).toMatchObject({ outcome: 'RECONCILED', upstreamCalls: 1 });
  });

  it('does not ask a caller without a key to retry', async () => {
    sandbox.links.fault({ kind: 'drop', applied: true, path: ADD, times: 1 });
    const lost = await outcome(process.call({ maxWaitMs: 0 }).links.write(pixel));
    const settlesAt = new Date(process.records.now + SETTLE).toISOString();
    const details = { upstream: 'LINKS', check: 'Query.pixels', settlesAt };
    expect((lost as GatewayError).details).toEqual(details);
  });

  it('is never sent a second time, and looked for once', async () => {
    sandbox.links.fault({ kind: 'drop', path: ADD, times: 1 });
    for (let run = 0; run < 3; run += 1) {
      const call = process.call({ key, maxWaitMs: 90_000 });
      const lost = await ended(call.links.write(pixel), 90_000);
      expect(lost).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        message: expect.stringContaining('Check Query.pixels'),
      });
      expect((lost as GatewayError).details).not.toHaveProperty('retryAfterMs');
    }
    expect([adds(), reads().length, await pixelsMade()]).toEqual([1, 1, 0]);
  });

  it('is looked for by a retry if the API allowed no look before', async () => {
    sandbox.links.fault({ kind: 'drop', applied: true, path: ADD, times: 1 });
    sandbox.links.fault({ kind: 'error-500', path: '/api/pixels', times: 1 });
    expect(await ended(process.call({ key }).links.write(pixel), 16_000)).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      details: { retryAfterMs: expect.any(Number) },
    });
    const call = process.call({ key });
    expect(await ended(call.links.write(pixel))).toMatchObject({ name: 'Summer' });
    expect(call.report?.outcome).toBe('RECONCILED');
    expect(adds()).toBe(1);
  });

  it('is not confused with an equal row that another key has created', async () => {
    sandbox.links.fault({ kind: 'drop', path: ADD, times: 1 });
    await outcome(process.call({ key, maxWaitMs: 0 }).links.write(pixel));
    const other = await process.call({ key: newKey() }).links.write(pixel);
    await process.clock.advance(LATER);
    expect(other).toMatchObject({ name: 'Summer' });
    const lost = await outcome(process.call({ key }).links.write(pixel));
    expect(lost).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await pixelsMade()).toBe(1);
  });

  it('waits for an equal one that is under way', async () => {
    sandbox.links.fault({ kind: 'drop', applied: true, path: ADD, times: 1 });
    const first = process.call({ key }).links.write(pixel);
    const second = process.call({ key: newKey() }).links.write(pixel);
    const third = process.call().links.write(pixel);
    await process.clock.advance(SETTLE - 1);
    expect(adds()).toBe(1);
    await process.clock.advance(1);
    const ids = (await Promise.all([first, second, third])).map((row) => row.id);
    expect(new Set(ids).size).toBe(3);
    expect(adds()).toBe(3);
  });

  it.each([
    ['was found', 16_000],
    ['is unknown', 0],
  ])('without a time stamp is found after another, which %s', async (_, maxWaitMs) => {
    await process.call().links.connection(channels, { first: 1 });
    const creations = ['Spring', 'Summer', 'Autumn'].map((name) => createChannel({ name }));
    for (const creation of creations) {
      sandbox.links.fault({ kind: 'drop', applied: true, path: '/api/channel/add', times: 1 });
      await ended(process.call({ key: newKey(), maxWaitMs }).links.write(creation), maxWaitMs);
    }
    sandbox.links.fault({ kind: 'drop', applied: true, path: '/api/channel/add', times: 1 });
    const winter = process.call({ key }).links.write(createChannel({ name: 'Winter' }));
    expect(await ended(winter, 16_000)).toMatchObject({ name: 'Winter' });
  });

  it('without a time stamp is unknown if no page was cached, with its candidates', async () => {
    const summer = createChannel({ name: 'Summer' });
    sandbox.links.fault({ kind: 'drop', applied: true, path: '/api/channel/add', times: 1 });
    const lost = await ended(process.call({ key }).links.write(summer));
    expect(lost).toMatchObject({ details: { candidates: [expect.any(String)] } });
    // After one confirmed creation, the ids of others tell.
    await process.call().links.write(createChannel({ name: 'Winter' }));
    sandbox.links.fault({ kind: 'drop', applied: true, path: '/api/channel/add', times: 1 });
    const autumn = createChannel({ name: 'Autumn' });
    expect(await ended(process.call({ key: newKey() }).links.write(autumn))).toMatchObject({
      name: 'Autumn',
    });
  });

  it('is looked for before a key is used that is older than the memory', async () => {
    await process.clock.advance(LATER);
    const made = await process.call().links.write(pixel);
    const next = await KeyedProcess.start(sandbox, { clock: process.clock });
    const call = next.call({ key, madeAt: process.clock.wall() - 1000, maxWaitMs: 0 });
    expect(await outcome(call.links.write(pixel))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await process.clock.advance(SETTLE);
    const again = next.call({ key, madeAt: process.clock.wall() - 1000 - SETTLE });
    expect(await again.links.write(pixel)).toEqual(expect.objectContaining({ id: made.id }));
    expect(again.report?.outcome).toBe('RECONCILED');
    expect(adds()).toBe(1);
  });

  it('older than the memory is sent if it is absent, and not again after its request was lost', async () => {
    await process.clock.advance(LATER);
    const madeAt = process.clock.wall() - 1000;
    const next = await KeyedProcess.start(sandbox, { clock: process.clock });
    sandbox.links.fault({ kind: 'drop', path: ADD, times: 1 });
    const lost = next.call({ key, madeAt, maxWaitMs: 3 * LATER }).links.write(pixel);
    expect(await ended(lost, 3 * LATER)).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect([adds(), reads().length]).toEqual([1, 2]);
  });
});
