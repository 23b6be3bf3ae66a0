import { describe, expect, test } from 'vitest';
import { perResource } from '../../src/resources.ts';
import { noLists } from '../support/no-lists.ts';
import { clientWorld, read } from './client-world.ts';

/** A client of callers who bring keys of their own; answers are fresh for a second and stale for long. */
async function createWorld(maxKeys = 2) {
  const { caller, client, clock, reader, upstream } = await clientWorld(() => ({
    timeoutMs: 60_000,
    freshness: perResource(() => ({
      ttlMs: 1000,
      staleWhileRevalidateMs: 60_000,
      staleIfErrorMs: 600_000,
    })),
    maxKeys,
  }));
  const key = (partition: string) => ({
    partition,
    secret: `secret of ${partition}`,
    ofCaller: true as const,
  });
  const ask = (path: string, partition: string, maxWaitMs = 0): Promise<unknown> =>
    Promise.resolve(
      reader.read(read(path, true), {
        caller: caller({ name: partition, maxWaitMs }),
        credential: key(partition),
      }),
    );
  /** Whether a key is known to be a good one, and what it has spent. */
  const standing = (partition: string) => {
    const { accepted, used } = client.budgetState({ credential: key(partition) });
    return { accepted, used };
  };
  return { ask, caller, client, clock, key, reader, standing, upstream };
}

describe('A caller’s key', () => {
  test('is a good one once the upstream has given it something, and as long as it does', async () => {
    const { ask, standing, upstream } = await createWorld();
    expect(standing('p')).toEqual({ accepted: false, used: 0 });
    upstream.onRequest = (arrival) => arrival.answer({ message: 'There is no such thing.' }, 404);
    // Some upstreams say so before they look at the key.
    expect(await ask('absent', 'p')).toBeNull();
    expect(standing('p')).toEqual({ accepted: false, used: 1 });
    upstream.onRequest = (arrival) => arrival.answer({}, 500);
    await expect(ask('broken', 'p')).rejects.toThrow();
    expect(standing('p')).toEqual({ accepted: false, used: 2 });
    upstream.onRequest = (arrival) => arrival.answer({});
    await ask('a', 'p');
    expect(standing('p')).toEqual({ accepted: true, used: 3 });
    upstream.onRequest = (arrival) => arrival.answer({ message: 'There is no such thing.' }, 404);
    await ask('absent too', 'p');
    expect(standing('p')).toEqual({ accepted: true, used: 4 });
    upstream.onRequest = (arrival) => arrival.answer({ message: 'Unknown key' }, 401);
    await expect(ask('b', 'p')).rejects.toMatchObject({ code: 'UPSTREAM_UNAUTHENTICATED' });
    expect(standing('p')).toEqual({ accepted: false, used: 5 });
    upstream.onRequest = (arrival) => arrival.answer({});
    await ask('c', 'p');
    expect(standing('p')).toEqual({ accepted: true, used: 6 });
  });

  test('takes no place from a good one unless it is one, however many are made up', async () => {
    const { ask, standing, upstream } = await createWorld(2);
    await ask('a', 'good');
    upstream.onRequest = (arrival) =>
      arrival.key.includes('good') ? arrival.answer({}) : arrival.answer({}, 401);
    for (let n = 0; n < 20; n += 1) {
      await expect(ask('a', `made up ${n}`)).rejects.toMatchObject({
        code: 'UPSTREAM_UNAUTHENTICATED',
      });
    }
    await ask('a', 'good too');
    expect(standing('good too')).toEqual({ accepted: true, used: 1 });
    // Both places are taken now, by keys that have spent something.
    await expect(ask('a', 'good again')).rejects.toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(standing('made up 3')).toEqual({ accepted: false, used: 1 });
  });

  test('keeps nothing that was on its way when it was refused', async () => {
    const { ask, client, key, reader, upstream } = await createWorld();
    await ask('first', 'p');
    upstream.onRequest = () => {};
    const before = ask('a', 'p');
    const late = await upstream.arrival(2);
    const refused = ask('b', 'p');
    (await upstream.arrival(3)).answer({}, 401);
    await expect(refused).rejects.toMatchObject({ code: 'UPSTREAM_UNAUTHENTICATED' });
    late.answer({ is: 'from before' });
    expect(await before).toEqual({ is: 'from before' });
    for (const path of ['first', 'a']) {
      expect(reader.peek(read(path), { credential: key('p') })).toBeUndefined();
      expect(reader.inFlight(read(path), { credential: key('p') })).toBe(false);
    }
    expect(client.budgetState({ credential: key('p') }).accepted).toBe(false);
  });
});

describe('The gateway’s own key', () => {
  const own = { partition: 'own', secret: 'secret of ours' };

  test('is as good as before when a write is refused in the words for a bad key', async () => {
    const { caller, clock, reader, upstream } = await createWorld();
    const access = () => ({ caller: caller(), credential: own });
    await reader.read(read('a'), access());
    await reader.read(read('b'), access());
    await clock.advance(1500);
    upstream.onRequest = (arrival) => arrival.answer({ message: 'Unknown key' }, 401);
    const write = {
      method: 'POST',
      path: '/api/write',
      decode: (body: unknown) => body,
      touches: () => ['b'],
      check: null,
      evidence: null,
    } as const;
    await expect(reader.write(write, access(), noLists)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAUTHENTICATED',
    });
    // Callers choose what is written: what all others are served does not depend on it.
    expect(reader.peek(read('a'), { credential: own })?.state).toBe('stale');
    expect(reader.peek(read('b'), { credential: own })?.state).toBe('stale');
    await expect(reader.read(read('c'), access())).rejects.toMatchObject({
      code: 'UPSTREAM_UNAUTHENTICATED',
    });
    // A read is refused for the key alone.
    expect(reader.peek(read('a'), { credential: own })).toBeUndefined();
  });
});

describe('A copy past its ttl', () => {
  test('is what a patient reader gets after a second where nothing newer comes', async () => {
    const { ask, clock, upstream } = await createWorld();
    const kept = await ask('a', 'p');
    await clock.advance(5000);
    upstream.onRequest = () => {};
    const given: unknown[] = [];
    // A tenth of its patience would be six seconds.
    const reader = ask('a', 'p', 60_000).then((value) => given.push(value));
    const arrival = await upstream.arrival(2);
    await clock.advance(999);
    expect(given).toEqual([]);
    await clock.advance(1);
    expect(given).toEqual([kept]);
    await reader;
    arrival.answer({ is: 'new' });
    await clock.settle();
    expect(await ask('a', 'p')).toEqual({ is: 'new' });
  });
});
