import { describe, expect, test, vi } from 'vitest';
import type { ClientOptions } from '../../src/upstream/client.ts';
import type { Access } from '../../src/upstream/operation.ts';
import { clientWorld, read } from './client-world.ts';

async function createWorld(options: Partial<ClientOptions> = {}) {
  const { caller, ...world } = await clientWorld(() => options);
  const access = (
    partition = 'p',
    signal = new AbortController().signal,
    maxWaitMs = 0,
  ): Access => ({
    caller: caller({ maxWaitMs, signal }),
    credential: { partition, secret: `secret of ${partition}` },
  });
  const count = () => world.upstream.log.length;
  return { ...world, access, count };
}

const tag = (path: string) => [`LINKS:p ${path}`];

describe('Client.read', () => {
  test('lets seven reads of one page leave together: none waits for a timer', async () => {
    const { reader, access, upstream } = await createWorld();
    await reader.read(read('first'), access());
    upstream.onRequest = () => {};
    const { setTimeout } = globalThis;
    vi.stubGlobal('setTimeout', () => setTimeout(() => {}, 1e9).unref());
    const paths = Array.from({ length: 7 }, (_, n) => `${n}`);
    const reads = Promise.all(paths.map((path) => reader.read(read(path), access())));
    await upstream.arrival(8);
    vi.unstubAllGlobals();
    for (const arrival of upstream.log.slice(1)) arrival.answer({});
    expect(await reads).toHaveLength(7);
  });

  test('waits on for the answer when a write makes the copy wrong that would have done', async () => {
    const { reader, access, clock, upstream, cache, count } = await createWorld();
    await reader.read(read('a'), access());
    await clock.advance(3000);
    upstream.onRequest = () => {};
    const answer = reader.read(read('a'), access());
    const before = await upstream.arrival(2);
    cache.touch(tag('a'));
    await clock.advance(300);
    (await upstream.arrival(3)).answer({ is: 'new' });
    expect(await answer).toEqual({ is: 'new' });
    before.answer({ is: 'old' });
    await clock.settle();
    expect(await reader.read(read('a'), access())).toEqual({ is: 'new' });
    expect(count()).toBe(3);
  });

  test('neither keeps nor shares what was on its way when a write happened', async () => {
    const { reader, access, upstream, cache, count } = await createWorld();
    await reader.read(read('first'), access());
    upstream.onRequest = () => {};
    const before = reader.read(read('a'), access());
    const old = await upstream.arrival(2);
    cache.touch(tag('a'));
    const after = reader.read(read('a'), access());
    (await upstream.arrival(3)).answer({ is: 'new' });
    expect(await after).toEqual({ is: 'new' });
    old.answer({ is: 'old' });
    expect(await before).toEqual({ is: 'old' });
    expect(await reader.read(read('a'), access())).toEqual({ is: 'new' });
    expect(count()).toBe(3);
  });

  test('shares across a write what has not left yet', async () => {
    const { reader, access, upstream, cache, count } = await createWorld();
    upstream.onRequest = () => {};
    const patient = () => access('p', new AbortController().signal, 5000);
    const first = reader.read(read('first'), patient());
    const arrival = await upstream.arrival(1);
    const before = reader.read(read('a'), patient());
    cache.touch(tag('a'));
    const after = reader.read(read('a'), patient());
    upstream.onRequest = (each) => each.answer({});
    arrival.answer({});
    await Promise.all([first, before, after]);
    expect(count()).toBe(2);
  });

  test('repeats once a read whose connection broke, also for those who do not wait', async () => {
    const { reader, access, upstream, count } = await createWorld();
    upstream.onRequest = (arrival) => (count() === 1 ? arrival.drop() : arrival.answer({ ok: 1 }));
    const { caller, credential } = access();
    expect(await reader.read(read('a'), { caller, credential })).toEqual({ ok: 1 });
    expect(caller.receipt.summary.calls).toBe(2);
    upstream.onRequest = (arrival) => arrival.drop();
    await expect(reader.read(read('b'), access())).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
    });
    expect(count()).toBe(4);
  });

  test('warns of no leak when one operation makes many reads', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const { reader, access, clock } = await createWorld({ rateLimit: 60 });
    const operation = access('p', new AbortController().signal, 5000);
    await Promise.all(
      Array.from({ length: 25 }, (_, n) => reader.read(read(String(n)), operation)),
    );
    await clock.settle();
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});
