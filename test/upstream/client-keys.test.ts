import { describe, expect, test } from 'vitest';
import { clientWorld, read } from './client-world.ts';

/** A client of callers who bring keys of their own. */
async function createWorld() {
  const { caller, client, reader, upstream } = await clientWorld(() => ({ maxKeys: 2 }));
  const credential = { partition: 'p', secret: 'secret of p', ofCaller: true } as const;
  const ask = (path: string): Promise<unknown> =>
    Promise.resolve(reader.read(read(path, true), { caller: caller(), credential }));
  /** Whether the key is known to be a good one, and what it has spent. */
  const standing = () => {
    const { accepted, used } = client.budgetState({ credential });
    return { accepted, used };
  };
  return { ask, standing, upstream };
}

describe('A caller’s key', () => {
  test('is a good one once the upstream has given it something, and as long as it does', async () => {
    const { ask, standing, upstream } = await createWorld();
    expect(standing()).toEqual({ accepted: false, used: 0 });
    upstream.onRequest = (arrival) => arrival.answer({ message: 'There is no such thing.' }, 404);
    // Some upstreams say so before they look at the key.
    expect(await ask('absent')).toBeNull();
    expect(standing()).toEqual({ accepted: false, used: 1 });
    upstream.onRequest = (arrival) => arrival.answer({}, 500);
    await expect(ask('broken')).rejects.toThrow();
    expect(standing()).toEqual({ accepted: false, used: 2 });
    upstream.onRequest = (arrival) => arrival.answer({});
    await ask('a');
    expect(standing()).toEqual({ accepted: true, used: 3 });
    upstream.onRequest = (arrival) => arrival.answer({ message: 'There is no such thing.' }, 404);
    await ask('absent too');
    expect(standing()).toEqual({ accepted: true, used: 4 });
    upstream.onRequest = (arrival) => arrival.answer({ message: 'Unknown key' }, 401);
    await expect(ask('b')).rejects.toMatchObject({ code: 'UPSTREAM_UNAUTHENTICATED' });
    expect(standing()).toEqual({ accepted: false, used: 5 });
    upstream.onRequest = (arrival) => arrival.answer({});
    await ask('c');
    expect(standing()).toEqual({ accepted: true, used: 6 });
  });
});
