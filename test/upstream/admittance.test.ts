import { describe, expect, test } from 'vitest';
import { perResource } from '../../src/resources.ts';
import { Admittance } from '../../src/upstream/operation.ts';
import { noLists } from '../support/no-lists.ts';
import { clientWorld, read } from './client-world.ts';

/** A reader of what holds an answer and has a request in flight, and an access that needs an admission. */
async function createWorld() {
  const { caller, reader, upstream } = await clientWorld(() => ({
    freshness: perResource(() => ({ ttlMs: 60_000, staleWhileRevalidateMs: 0, staleIfErrorMs: 0 })),
  }));
  const credential = { partition: 'p', secret: 's' };
  const known = { caller: caller(), credential };
  await reader.read(read('kept'), known);
  upstream.onRequest = () => {};
  // Cut off at the end of the test.
  void Promise.allSettled([reader.read(read('under way'), known)]);
  await upstream.arrival(2);
  let admits = false;
  const refused = new Error('this key is not accepted');
  const admittance = new Admittance(() => (admits ? Promise.resolve() : Promise.reject(refused)));
  return {
    access: { caller: caller(), credential, admittance },
    reader,
    refused,
    upstream,
    admit: (may: boolean) => {
      admits = may;
    },
  };
}

type World = Awaited<ReturnType<typeof createWorld>>;

/** What the caller can learn at once. */
function learns({ access, reader }: World) {
  return {
    copy: reader.peek(read('kept'), access)?.state,
    inFlight: reader.inFlight(read('under way'), access),
  };
}

const nothing = { copy: undefined, inFlight: false };

describe('A caller who has to be admitted first', () => {
  test('learns nothing before, and nothing is sent for them', async () => {
    const world = await createWorld();
    const { access, reader, refused, upstream } = world;
    const isRefused = async () => {
      expect(learns(world)).toEqual(nothing);
      expect(() => reader.budgetState(access)).toThrow(TypeError);
    };
    await isRefused();
    const call = {
      method: 'GET',
      path: '/api/secret',
      resource: 'items',
      decode: () => 1,
    } as const;
    const write = { ...call, method: 'POST', touches: () => ['kept'] } as const;
    for (const asked of [
      () => reader.read(read('kept'), access),
      () => reader.read(read('never read'), access),
      () => reader.write(write as never, access, noLists),
      () => reader.readSecret(call, access),
      () => access.admittance.admit(),
    ]) {
      await expect(asked()).rejects.toBe(refused);
      await isRefused();
    }
    expect(upstream.log).toHaveLength(2);
    expect(access.caller.receipt.summary.saved.cache).toBe(0);
  });

  test('learns what there is once admitted, and not any more once refused', async () => {
    const world = await createWorld();
    const { access, admit, reader, refused } = world;
    admit(true);
    expect(await reader.read(read('kept'), access)).toMatchObject({ path: expect.any(String) });
    expect(learns(world)).toEqual({ copy: 'fresh', inFlight: true });
    expect(reader.budgetState(access)).toMatchObject({ used: 2 });
    admit(false);
    await expect(reader.read(read('kept'), access)).rejects.toBe(refused);
    expect(learns(world)).toEqual(nothing);
    expect(() => reader.budgetState(access)).toThrow(TypeError);
  });
});
