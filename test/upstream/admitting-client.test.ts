import { describe, expect, test } from 'vitest';
import { AdmittingClient } from '../../src/upstream/admitting-client.ts';
import { SharedAnswers } from '../../src/upstream/cache/shared-answers.ts';
import { clientWorld, read } from './client-world.ts';

/** A client that holds an answer and has a request in flight, and the same behind an admission. */
async function createWorld() {
  let looks = 0;
  const { caller, client, upstream } = await clientWorld(({ baseUrl }, clock) => ({
    freshness: () => ({ ttlMs: 60_000, staleWhileRevalidateMs: 0, staleIfErrorMs: 0 }),
    answers: new SharedAnswers({
      clock,
      nameOf: (_, text) => text,
      baseUrl,
      // Asked first of all. What is behind it is then not touched.
      isUp: () => {
        looks += 1;
        return false;
      },
      ...({} as Pick<
        ConstructorParameters<typeof SharedAnswers>[0],
        'replica' | 'generations' | 'kept'
      >),
    }),
  }));
  const access = { caller: caller(), credential: { partition: 'p', secret: 's' } };
  await client.read(read('kept'), access);
  upstream.onRequest = () => {};
  // Cut off at the end of the test.
  void Promise.allSettled([client.read(read('under way'), access)]);
  await upstream.arrival(2);
  looks = 0;
  let admits = false;
  const refused = new Error('this key is not accepted');
  const guarded = new AdmittingClient(client, () =>
    admits ? Promise.resolve() : Promise.reject(refused),
  );
  return {
    access,
    guarded,
    refused,
    upstream,
    /** How often it was looked for what other replicas have. */
    looks: () => looks,
    admit: (may: boolean) => {
      admits = may;
    },
  };
}

type World = Awaited<ReturnType<typeof createWorld>>;

/** What a caller can learn at once. */
function learns({ access: { credential }, guarded }: World) {
  return {
    copy: guarded.peek(read('kept'), { credential })?.state,
    inFlight: guarded.inFlight(read('under way'), credential),
  };
}

const nothing = { copy: undefined, inFlight: false };

describe('A client that admits first', () => {
  test('knows nothing for a caller who was not admitted, and sends nothing for them', async () => {
    const world = await createWorld();
    const { access, guarded, looks, refused, upstream } = world;
    const { credential } = access;
    const isRefused = async () => {
      expect(learns(world)).toEqual(nothing);
      expect(guarded.bring([read('elsewhere')], credential)).toBeUndefined();
      expect(() => guarded.budgetState(credential)).toThrow(TypeError);
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
      () => guarded.read(read('kept'), access),
      () => guarded.read(read('never read'), access),
      () => guarded.write(write as never, access),
      () => guarded.readSecret(call, access),
      () => guarded.admit(),
    ]) {
      await expect(asked()).rejects.toBe(refused);
      await isRefused();
    }
    expect(looks()).toBe(0);
    expect(upstream.log).toHaveLength(2);
    expect(access.caller.receipt.summary.saved.cache).toBe(0);
  });

  test('knows what there is once it has admitted, and not any more once it has refused', async () => {
    const world = await createWorld();
    const { access, admit, guarded, looks, refused } = world;
    const { credential } = access;
    admit(true);
    expect(await guarded.read(read('kept'), access)).toMatchObject({ path: expect.any(String) });
    expect(learns(world)).toEqual({ copy: 'fresh', inFlight: true });
    expect(guarded.budgetState(credential)).toMatchObject({ used: 2 });
    await guarded.bring([read('elsewhere')], credential);
    expect(looks()).toBe(1);
    admit(false);
    await expect(guarded.read(read('kept'), access)).rejects.toBe(refused);
    expect(learns(world)).toEqual(nothing);
    expect(() => guarded.budgetState(credential)).toThrow(TypeError);
  });
});
