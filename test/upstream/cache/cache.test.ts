import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDigest } from '../../../src/digest.ts';
import { createMarketApi } from '../../../src/market/api.ts';
import { purchase } from '../../../src/market/purchase.ts';
import { perResource } from '../../../src/resources.ts';
import { Cache, type CacheEntry } from '../../../src/upstream/cache/cache.ts';
import { Client } from '../../../src/upstream/client.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import { ScriptedUpstream } from '../../support/scripted-upstream.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const freshness = { ttlMs: 100, staleWhileRevalidateMs: 200, staleIfErrorMs: 300 };

function createWorld(maxBytes = 1_000_000) {
  const clock = new VirtualClock();
  const cache = new Cache({ clock, maxBytes });
  const entry = (
    value: unknown,
    tags: readonly string[] = [],
    generation = cache.stamp().generation,
  ): CacheEntry => ({
    value,
    resource: 'channels',
    stamp: { storedAt: clock.now(), generation },
    freshness,
    tags,
  });
  return { clock, cache, entry };
}

describe('Cache', () => {
  test('never takes more bytes than it may, and drops first what was used last', () => {
    const { cache, entry } = createWorld(10_000);
    for (let n = 0; n < 8; n += 1) {
      cache.set(`key ${n}`, entry(n), 1500);
      cache.get('key 0');
      expect(cache.size.bytes).toBeLessThanOrEqual(10_000);
    }
    const kept = Array.from({ length: 8 }, (_, n) => n).filter((n) => cache.get(`key ${n}`));
    expect(kept).toEqual([0, 4, 5, 6, 7]);
    expect(cache.size.entries).toBe(5);
  });

  test('stays within its bytes whatever is kept, an answer larger than all of it too', () => {
    const answers = fc.array(fc.tuple(fc.nat(30), fc.nat(30_000)), { maxLength: 60 });
    fc.assert(
      fc.property(answers, (each) => {
        const { cache, entry } = createWorld(20_000);
        for (const [n, bytes] of each) {
          const key = String(n);
          cache.set(key, entry(bytes), bytes);
          expect(cache.size.bytes).toBeLessThanOrEqual(20_000);
          expect(cache.get(key)?.entry.value).toBe(
            bytes + key.length + 256 > 20_000 ? undefined : bytes,
          );
        }
      }),
    );
  });

  test('lets what is read once displace only its like, until it is used', () => {
    const MB = 1024 * 1024;
    const { cache, entry } = createWorld(16 * MB);
    cache.set('hot', entry('hot'), MB);
    cache.set('hot', entry('again'), MB, true);
    cache.set('used', entry('used'), MB / 4, true);
    cache.get('used');
    for (let n = 0; n < 100; n += 1) {
      cache.set(`page ${n}`, entry(n), MB / 4, true);
      cache.peek('page 0');
    }
    const kept = [...cache.keys()].sort((one, other) => (one < other ? -1 : 1));
    expect(kept).toEqual(['hot', 'page 96', 'page 97', 'page 98', 'page 99', 'used']);
    cache.set('large', entry('large'), 2 * MB, true);
    expect([...cache.keys()].sort((one, other) => (one < other ? -1 : 1))).toEqual(['hot', 'used']);
  });

  test('keeps count of what is read once, whatever happens to it', () => {
    const steps = fc.array(
      fc.tuple(fc.nat(9), fc.constantFrom('set', 'once', 'get', 'touch'), fc.nat(600_000)),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (each) => {
        const { cache, entry } = createWorld(4_000_000);
        const once = new Map<string, number>();
        for (const [n, step, bytes] of each) {
          const key = String(n);
          if (step === 'set' || step === 'once') {
            const isUsed = cache.peek(key) !== undefined && !once.has(key);
            once.delete(key);
            cache.set(key, entry(bytes, [key]), bytes, step === 'once');
            if (step === 'once' && !isUsed) once.set(key, bytes);
          } else if (step === 'get') {
            cache.get(key);
            once.delete(key);
          } else {
            cache.touch([key]);
          }
          const left = [...once].filter(([key]) => cache.peek(key));
          expect(left.reduce((sum, [, size]) => sum + size, 0)).toBeLessThanOrEqual(1024 * 1024);
        }
      }),
    );
  });

  test.each([
    [0, 'fresh'],
    [99, 'fresh'],
    [100, 'stale'],
    [299, 'stale'],
    [300, 'fallback'],
    [599, 'fallback'],
    [600, undefined],
  ])('judges an answer %i ms old: %s', async (ageMs, state) => {
    const { clock, cache, entry } = createWorld();
    cache.set('key', entry('value'), 1);
    await clock.advance(ageMs);
    expect(cache.peek('key')?.state).toBe(state);
    expect(cache.get('key')).toEqual(
      state && { entry: expect.objectContaining({ value: 'value' }), state, ageMs },
    );
    expect(cache.size.entries).toBe(state ? 1 : 0);
  });

  test('drops by tag what was read before a write, and keeps what was asked for after it', () => {
    const { cache, entry } = createWorld();
    cache.set('a', entry('a', ['x', 'y']), 1);
    cache.set('b', entry('b', ['z']), 1);
    const before = cache.stamp().generation;
    cache.touch(['y']);
    expect([cache.get('a'), cache.get('b')?.entry.value]).toEqual([undefined, 'b']);
    cache.set('late', entry('late', ['x', 'y'], before), 1);
    expect(cache.get('late')).toBeUndefined();
    cache.set('a', entry('new', ['x', 'y']), 1);
    expect(cache.get('a')?.entry.value).toBe('new');
    expect([cache.holds(['x'], before), cache.holds(['x', 'y'], before)]).toEqual([true, false]);
  });

  test('never brings an old answer back by forgetting which tags were touched', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ does: fc.constant('ask' as const), tag: fc.nat(3) }),
        fc.record({ does: fc.constant('answer' as const), tag: fc.nat(3) }),
        fc.record({ does: fc.constant('touch' as const), tag: fc.nat(3) }),
        // As many tags as make it forget once, or nearly.
        fc.record({
          does: fc.constant('flood' as const),
          tag: fc.constantFrom(1, 4999, 9998, 9999),
        }),
      ),
      { maxLength: 30 },
    );
    let names = 0;
    fc.assert(
      fc.property(steps, (each) => {
        const { cache, entry } = createWorld();
        /** By tag: how often it was written, and the answers on their way with what they will show. */
        const written = [0, 0, 0, 0];
        const asked: { tag: number; shows: number; asOf: number }[] = [];
        for (const { does, tag } of each) {
          if (does === 'touch') {
            written[tag] = (written[tag] ?? 0) + 1;
            cache.touch([String(tag)]);
          } else if (does === 'flood') {
            cache.touch(Array.from({ length: tag }, () => `other ${(names += 1)}`));
          } else if (does === 'ask') {
            asked.push({ tag, shows: written[tag] ?? 0, asOf: cache.stamp().generation });
          } else {
            const at = asked.findIndex((flight) => flight.tag === tag);
            const [flight] = at < 0 ? [] : asked.splice(at, 1);
            if (flight) cache.set(String(tag), entry(flight.shows, [String(tag)], flight.asOf), 1);
          }
          for (const [n, shows] of written.entries()) {
            expect([undefined, shows]).toContain(cache.get(String(n))?.entry.value);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  test('forgets a scope whole, and no other', () => {
    const { cache, entry } = createWorld(10_000);
    for (let n = 0; n < 50; n += 1) cache.set(`LINKS:${n % 2} ${n}`, entry(n), 500);
    const before = cache.size.entries;
    cache.forget('LINKS:1');
    expect(cache.size.entries).toBeLessThan(before);
    expect(
      Array.from({ length: 25 }, (_, n) => cache.get(`LINKS:1 ${2 * n + 1}`)).filter(Boolean),
    ).toEqual([]);
    expect(cache.get('LINKS:0 48')).toBeDefined();
    cache.forget('LINKS:2');
    cache.set('LINKS:1 1', entry(1), 500);
    expect(cache.get('LINKS:1 1')).toBeDefined();
  });
});

describe('the keys of kept answers', () => {
  test('hold neither what was sent in a body nor an API key', async () => {
    const keys: string[] = [];
    class SpyCache extends Cache {
      override set(...[key, entry, bytes]: Parameters<Cache['set']>): boolean {
        keys.push(key, ...entry.tags);
        return super.set(key, entry, bytes);
      }
    }
    const code = '86781236-23d0-4b3c-7dfa-c1c147e0dece';
    const secret = 'the-api-key';
    const clock = new VirtualClock();
    await using upstream = await ScriptedUpstream.start();
    for (const encoding of ['json', 'form', 'query'] as const) {
      const client = new Client({
        api: createMarketApi(encoding),
        baseUrl: upstream.baseUrl,
        dispatcher: upstream.dispatcher,
        clock,
        rateWindowMs: 60_000,
        timeoutMs: 10_000,
        timeZone: 'UTC',
        cache: new SpyCache({ clock, maxBytes: 1_000_000 }),
        freshness: perResource(() => freshness),
        rateLimit: 30,
        digest: createDigest('salt'),
      });
      const caller = {
        name: 'someone',
        receipt: new Receipt(clock),
        maxWaitMs: 0,
        signal: new AbortController().signal,
      };
      upstream.onRequest = (arrival) => arrival.answer({ msg: 'Not found.' }, 404);
      const access = { caller, credential: { partition: 'p', secret } };
      expect(await client.read(purchase(code), access)).toBeNull();
    }
    expect(keys.filter((key) => key.includes('/api/purchases/validation'))).toHaveLength(3);
    const told = keys.join(' ');
    for (const hidden of [code, secret, Buffer.from(code).toString('base64')]) {
      expect(told).not.toContain(hidden);
    }
  });
});
