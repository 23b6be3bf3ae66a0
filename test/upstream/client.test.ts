import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
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
  test('serves a kept answer for its ttl, and asks again after all its periods', async () => {
    const { reader, access, clock, count } = await createWorld();
    await reader.read(read('a'), access());
    await clock.advance(999);
    const { caller, credential } = access();
    await reader.read(read('a'), { caller, credential });
    expect(count()).toBe(1);
    expect(caller.receipt.summary).toMatchObject({ calls: 0, saved: { cache: 1 }, maxAgeMs: 999 });
    await clock.advance(12_000);
    await reader.read(read('a'), access());
    expect(count()).toBe(2);
  });

  test('makes one request of equal reads at the same time', async () => {
    const { reader, access, count } = await createWorld();
    await reader.read(read('first'), access());
    const readers = Array.from({ length: 20 }, () => access());
    await Promise.all(readers.map((each) => reader.read(read('a'), each)));
    expect(count()).toBe(2);
    const summaries = readers.map(({ caller }) => caller.receipt.summary);
    expect(summaries.filter(({ calls }) => calls === 1)).toHaveLength(1);
    expect(summaries.filter(({ saved }) => saved.coalesced === 1)).toHaveLength(19);
  });

  test('lets seven reads of one page leave together: none waits for a timer', async () => {
    const { reader, access, upstream } = await createWorld();
    await reader.read(read('first'), access());
    upstream.onRequest = () => {};
    const { setTimeout } = globalThis;
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubGlobal('setTimeout', () => setTimeout(() => {}, 1e9).unref());
    const paths = Array.from({ length: 7 }, (_, n) => `${n}`);
    const reads = Promise.all(paths.map((path) => reader.read(read(path), access())));
    await upstream.arrival(8);
    vi.unstubAllGlobals();
    for (const arrival of upstream.log.slice(1)) arrival.answer({});
    expect(await reads).toHaveLength(7);
  });

  test('serves a stale answer at once and refreshes it once behind the readers', async () => {
    const { reader, access, clock, upstream, count } = await createWorld();
    await reader.read(read('a'), access());
    await clock.advance(1500);
    upstream.onRequest = () => {};
    await Promise.all([1, 2, 3].map(() => reader.read(read('a'), access())));
    const refresh = await upstream.arrival(2);
    refresh.answer({ is: 'new' });
    await clock.settle();
    expect(await reader.read(read('a'), access())).toEqual({ is: 'new' });
    expect(count()).toBe(2);
  });

  test('serves an older answer when the upstream fails, but none from before a write', async () => {
    const { reader, access, clock, upstream, cache } = await createWorld();
    const value = await reader.read(read('a'), access());
    await clock.advance(3000);
    upstream.onRequest = (arrival) => arrival.answer({}, 500);
    const { caller, credential } = access();
    expect(await reader.read(read('a'), { caller, credential })).toEqual(value);
    expect(caller.receipt.summary).toMatchObject({ stale: 1, maxAgeMs: 3000 });
    cache.touch(tag('a'));
    await expect(reader.read(read('a'), access())).rejects.toThrow('is unavailable');
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

  test('keeps absence, and no error', async () => {
    const { reader, access, upstream, count } = await createWorld();
    upstream.onRequest = (arrival) => arrival.answer({ message: 'gone' }, 404);
    expect(await reader.read(read('a', true), access())).toBeNull();
    expect(await reader.read(read('a', true), access())).toBeNull();
    expect(count()).toBe(1);
    await expect(reader.read(read('b'), access())).rejects.toMatchObject({
      code: 'UPSTREAM_REJECTED',
    });
    await expect(reader.read(read('b'), access())).rejects.toThrow();
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

  test('never shows one credential what another was answered', async () => {
    const { reader, access, upstream } = await createWorld({ rateLimit: 1000 });
    upstream.onRequest = (arrival) => arrival.answer({ key: arrival.key });
    const patient = (p: string) => access(p, new AbortController().signal, 5000);
    const reads = fc.array(fc.tuple(fc.constantFrom('p', 'q', 'r'), fc.constantFrom('a', 'b')));
    await fc.assert(
      fc.asyncProperty(reads, async (each) => {
        await Promise.all(
          each.map(async ([partition, path]) => {
            const value = await reader.read(read(path), patient(partition));
            expect(value).toEqual({ key: `secret of ${partition}` });
          }),
        );
      }),
      { numRuns: 50 },
    );
  });

  test('counts on receipts what the upstream has in its log', async () => {
    const { reader, access, count } = await createWorld({ rateLimit: 10_000 });
    await reader.read(read('first'), access());
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(4), { maxLength: 6 }), { maxLength: 6 }),
        async (operations) => {
          round += 1;
          const before = count();
          const accesses = operations.map(() => access());
          await Promise.all(
            operations.flatMap((paths, n) =>
              paths.map((path) => reader.read(read(`${round}/${path}`), accesses[n] as Access)),
            ),
          );
          const summaries = accesses.map(({ caller }) => caller.receipt.summary);
          expect(summaries.reduce((sum, { calls }) => sum + calls, 0)).toBe(count() - before);
          summaries.forEach(({ calls, saved }, n) => {
            expect(calls + saved.cache + saved.coalesced).toBe(new Set(operations[n]).size);
          });
        },
      ),
      { numRuns: 40 },
    );
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

  test('gives up on an answer after its timeout', async () => {
    const { reader, access, upstream, clock } = await createWorld();
    upstream.onRequest = () => {};
    const answer = reader.read(read('a'), access());
    const rejected = expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    await upstream.arrival(1);
    await clock.advance(10_000);
    await rejected;
  });

  test('follows no redirect', async () => {
    const { reader, access, upstream, count } = await createWorld();
    upstream.onRequest = (arrival) => arrival.answer({}, 302, { location: '/elsewhere' });
    await expect(reader.read(read('a'), access())).rejects.toThrow();
    expect(count()).toBe(1);
  });

  test('goes again after a refusal without the reader noticing', async () => {
    const { reader, access, upstream, clock, count } = await createWorld();
    upstream.onRequest = (arrival) =>
      count() === 1 ? arrival.answer({}, 429, { 'retry-after': '3' }) : arrival.answer({ ok: 1 });
    const answer = reader.read(read('a'), access('p', new AbortController().signal, 5000));
    await upstream.arrival(1);
    await clock.settle();
    await clock.advance(3000);
    expect(await answer).toEqual({ ok: 1 });
  });

  test('lets one operation make two thirds of the limit of calls, and refuses it a batch of more than is left', async () => {
    const { reader, access, count } = await createWorld({ rateLimit: 6 });
    const operation = access('p', new AbortController().signal, 5000);
    const readAll = (paths: readonly string[]) =>
      Promise.allSettled(paths.map((path) => reader.read(read(path), operation)));
    for (const result of await readAll(['a', 'b', 'c', 'd', 'e', 'f'])) {
      expect(result).toMatchObject({ reason: { code: 'OPERATION_TOO_EXPENSIVE' } });
    }
    expect(count()).toBe(0);
    const fitting = await readAll(['a', 'b', 'c', 'd']);
    expect(fitting.map(({ status }) => status)).toEqual(Array(4).fill('fulfilled'));
    expect(await readAll(['e'])).toMatchObject([{ reason: { code: 'OPERATION_TOO_EXPENSIVE' } }]);
  });

  test('sees a read in flight from the moment it is asked for, until it is refused', async () => {
    const { reader, access } = await createWorld({ rateLimit: 1 });
    const operation = access('p', new AbortController().signal, 5000);
    const reads = [reader.read(read('a'), operation), reader.read(read('b'), operation)];
    expect(reader.inFlight(read('a'), operation)).toBe(true);
    await Promise.allSettled(reads);
    expect(reader.inFlight(read('a'), operation)).toBe(false);
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
