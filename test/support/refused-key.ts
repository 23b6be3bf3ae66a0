import type { Door } from './door.ts';

/** Has the link API refuse a key from now on, in its own words; returns how to take that back. */
export function refuseKey({ sandbox }: Door, key: string, path?: RegExp): () => void {
  return sandbox.links.fault({
    kind: 'answer',
    ...(path ? { path } : {}),
    rewrite: (answer, { headers }) =>
      headers['authorization'] === `Bearer ${key}`
        ? { status: 401, headers: {}, body: { error: 1, message: 'The API key has expired' } }
        : answer,
  });
}
