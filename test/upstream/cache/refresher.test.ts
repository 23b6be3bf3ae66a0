import { describe, expect, test } from 'vitest';
import { perResource } from '../../../src/resources.ts';
import { Interest } from '../../../src/upstream/cache/refresher.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { clientWorld, read } from '../client-world.ts';

const TTL = 1000;
const credential = { partition: 'p', secret: 'secret' };

async function createWorld(rateLimit: number) {
  const { cache, caller, clock, reader, upstream } = await clientWorld(() => ({
    rateLimit,
    timeoutMs: 600_000,
    freshness: perResource(() => ({
      ttlMs: TTL,
      staleWhileRevalidateMs: 3_600_000,
      staleIfErrorMs: 0,
    })),
  }));
  const access = (maxWaitMs = 600_000): Access => ({ caller: caller({ maxWaitMs }), credential });
  const paths = () => upstream.log.map(({ url }) => url.pathname.replace('/api/', ''));
  /** Reads what is not kept yet, one after the other, a millisecond apart. */
  const fill = async (names: readonly string[]) => {
    for (const name of names) {
      await reader.read(read(name), access());
      await clock.advance(1);
    }
    upstream.log.length = 0;
  };
  const ask = (name: string) => reader.read(read(name), access());
  return { clock, upstream, cache, reader, access, paths, fill, ask };
}

/** A read by its path, which is its key. */
const keyed = (path: string, of = credential) => ({
  key: path,
  read: read(path),
  credential: of,
});
const tag = (path: string) => [`LINKS:p ${path}`];
const names = (count: number) => Array.from({ length: count }, (_, n) => `thing${n}`);

describe('Refresher', () => {
  test('refreshes the oldest first, in whatever order they are asked for', async () => {
    const { clock, paths, fill, ask } = await createWorld(12);
    await fill(names(10));
    await clock.advance(2 * TTL);
    for (const name of names(10).toReversed()) await ask(name);
    await clock.advance(300_000);
    // The first that was asked for left at once: nothing older waited then.
    const [first, ...others] = paths().slice(0, 10);
    expect(first).toBe('thing9');
    expect(others).toEqual(names(9));
  });

  test('sends no refresh at its turn whose kept answer a write has made wrong', async () => {
    const { clock, cache, paths, fill, ask } = await createWorld(6);
    await fill(names(5));
    await clock.advance(2 * TTL);
    for (const name of names(5)) await ask(name);
    await clock.settle();
    const waiting = names(5).filter((name) => !paths().includes(name));
    expect(waiting.length).toBeGreaterThan(1);
    const [wrong, ...others] = waiting;
    cache.touch(tag(wrong as string));
    await clock.advance(300_000);
    expect(paths()).not.toContain(wrong);
    expect(paths()).toEqual(expect.arrayContaining(others));
  });

  test('sends it all the same for a reader who has come to wait for it', async () => {
    const { clock, cache, paths, fill, ask } = await createWorld(6);
    await fill(names(5));
    await clock.advance(2 * TTL);
    for (const name of names(5)) await ask(name);
    await clock.settle();
    const wrong = names(5).findLast((name) => !paths().includes(name)) as string;
    cache.touch(tag(wrong));
    const reader = ask(wrong);
    await clock.advance(120_000);
    expect(await reader).toEqual({ path: `http://upstream/api/${wrong}` });
    expect(paths().filter((name) => name === wrong)).toHaveLength(1);
  });

  test('reads again after a refresh that was not sent', async () => {
    const { clock, cache, paths, fill, ask } = await createWorld(6);
    await fill(names(5));
    await clock.advance(2 * TTL);
    for (const name of names(5)) await ask(name);
    await clock.settle();
    const wrong = names(5).findLast((name) => !paths().includes(name)) as string;
    cache.touch(tag(wrong));
    await clock.advance(300_000);
    await ask(wrong);
    expect(paths().filter((name) => name === wrong)).toHaveLength(1);
  });

  test('queues one refresh of an answer, however many are served from it', async () => {
    const { clock, paths, fill, ask } = await createWorld(6);
    await fill(names(5));
    await clock.advance(2 * TTL);
    for (let round = 0; round < 10; round += 1) await ask('thing0');
    await clock.advance(300_000);
    expect(paths()).toEqual(['thing0']);
  });

  test('goes on with a round whose readers have all been served', async () => {
    const { clock, paths, fill, ask } = await createWorld(12);
    await fill(names(2));
    await clock.advance(1.5 * TTL);
    await fill(names(12).slice(2));
    for (const name of names(12)) await ask(name);
    // Those that were fresh then fall due without another reader.
    await clock.advance(300_000);
    expect(new Set(paths())).toEqual(new Set(names(12)));
  });

  test('waits as briefly as ever after a failure that follows on a success', async () => {
    const { clock, upstream, paths, fill, ask } = await createWorld(30);
    const asked = async (afterMs: number, status: number) => {
      upstream.onRequest = (arrival) => arrival.answer({}, status);
      await clock.advance(afterMs);
      await Promise.allSettled([ask('a')]);
      await clock.settle();
      return paths().length;
    };
    await fill(['a']);
    expect(await asked(1500, 500)).toBe(1);
    expect(await asked(1999, 500)).toBe(1);
    expect(await asked(1, 500)).toBe(2);
    expect(await asked(3999, 500)).toBe(2);
    expect(await asked(1, 200)).toBe(3);
    expect(await asked(1500, 500)).toBe(4);
    expect(await asked(1999, 500)).toBe(4);
    expect(await asked(1, 500)).toBe(5);
  });
});

describe('Interest', () => {
  test('remembers a bounded number of answers, those asked for of late', () => {
    const clock = new VirtualClock();
    const interest = new Interest(clock);
    for (const name of names(6000)) interest.asked(keyed(name));
    const all = interest.wanted(Number.POSITIVE_INFINITY, credential);
    expect(all).toHaveLength(5000);
    expect([all[0]?.key, all.at(-1)?.key]).toEqual(['thing5999', 'thing1000']);
  });

  test('is kept apart by credential and by time', async () => {
    const clock = new VirtualClock();
    const interest = new Interest(clock);
    interest.asked(keyed('a'));
    await clock.advance(100);
    interest.asked(keyed('b'));
    interest.asked(keyed('c', { partition: 'q', secret: 'other' }));
    const keys = (ms: number) => interest.wanted(ms, credential).map(({ key }) => key);
    // A round of both takes twice as long, and what was asked for in the last round and a half is wanted.
    expect([keys(33), keys(34)]).toEqual([['b'], ['b', 'a']]);
  });

  test('lasts longer for what is asked for seldom, and not for what is hardly asked for', async () => {
    const clock = new VirtualClock();
    const interest = new Interest(clock);
    const ask = (...keys: string[]) => {
      for (const key of keys) interest.asked(keyed(key));
    };
    const isWanted = (key: string) =>
      interest.wanted(100, credential).some((each) => each.key === key);
    ask('hardly');
    await clock.advance(500);
    ask('seldom');
    await clock.advance(550);
    ask('hardly', 'seldom', 'once');
    // Enough is asked for all the time for a round to take 500 ms.
    for (let ms = 0; ms < 1000; ms += 100) {
      ask('a', 'b');
      await clock.advance(100);
    }
    expect(['hardly', 'seldom', 'once'].map(isWanted)).toEqual([false, true, false]);
    await clock.advance(2000);
    expect(interest.wanted(100, credential)).toEqual([]);
  });

  test('remembers a long gap for a while when the next is short', async () => {
    const clock = new VirtualClock();
    const interest = new Interest(clock);
    const ask = async (key: string, afterMs: number) => {
      await clock.advance(afterMs);
      interest.asked(keyed(key));
    };
    for (const [key, gapMs] of [
      ['at first seldom', 500],
      ['always often', 50],
    ] as const) {
      await ask(key, 0);
      await ask(key, gapMs);
      await ask(key, 50);
    }
    for (let ms = 0; ms < 1000; ms += 100) await ask('a', 100);
    const wanted = interest.wanted(100, credential).map(({ key }) => key);
    expect(wanted).toEqual(['a', 'at first seldom']);
  });

  test('counts the askers since an answer was read upstream', () => {
    const interest = new Interest(new VirtualClock());
    const ask = () => interest.asked(keyed('a'));
    expect([ask(), ask()]).toEqual([1, 2]);
    interest.renewed('a');
    interest.renewed('never asked for');
    expect(ask()).toBe(1);
  });
});
