import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { askRaw } from '../../support/raw-reply.ts';

const origin = 'https://app.example';
const json = { 'content-type': 'application/json' };

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', CORS_ORIGINS: origin, uploadMaxBytes: '1000' });
});

interface Init extends RequestInit {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Requests that reach every route, and every way of not getting there. */
const requests: [what: string, status: number, path: string, init: Init][] = [
  ['an operation by GET', 200, '/graphql?query={__typename}', {}],
  [
    'an operation by POST',
    200,
    '/graphql',
    { method: 'POST', headers: json, body: '{"query":"{__typename}"}' },
  ],
  ['what is no operation', 400, '/graphql', { method: 'POST', headers: json, body: 'null' }],
  ['a form', 403, '/graphql', { method: 'POST', body: new URLSearchParams({ query: '{a}' }) }],
  ['a text', 403, '/graphql', { method: 'POST', body: 'query={a}' }],
  ['a form with parts', 403, '/graphql', { method: 'POST', body: new FormData() }],
  ['too large a body', 413, '/graphql', { method: 'POST', body: 'x'.repeat(2_000_000) }],
  ['the page of GraphiQL', 200, '/graphql', { headers: { accept: 'text/html' } }],
  ['an upload', 201, '/files/a.txt', { method: 'PUT', body: 'x' }],
  ['too large an upload', 413, '/files/a.txt', { method: 'PUT', body: 'x'.repeat(1001) }],
  ['no upload', 405, '/files/a.txt', {}],
  ['a probe', 200, '/livez', {}],
  ['a probe by POST', 405, '/readyz', { method: 'POST' }],
  ['the metrics', 200, '/metrics', {}],
  ['the state', 200, '/console.json', {}],
  ['nothing', 404, '/nothing', {}],
];

/** What a page of another origin may not even ask for, since it would spend upstream calls. */
const refused = ['an operation by GET', 'an upload', 'too large an upload'];

describe('the answer to', () => {
  it.each(requests)('%s (%i) can be read by a page of a listed origin', async (...given) => {
    const [, status, path, init] = given;
    const answer = await door.send(path, { ...init, headers: { ...init.headers, origin } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/);
    const exposed = answer.headers.get('access-control-expose-headers')?.split(', ');
    expect(exposed).toEqual([
      'X-Request-Id',
      'Age',
      'ETag',
      'Retry-After',
      'Preference-Applied',
      'Idempotency-Replayed',
    ]);
    expect(answer.headers.get('x-request-id')).toMatch(/./);
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it.each(requests)('%s (%i) can be read by no other page', async (...given) => {
    const [what, usual, path, init] = given;
    const status = refused.includes(what) ? 403 : usual;
    for (const other of ['https://evil.example', 'null']) {
      const headers = { ...init.headers, origin: other };
      const answer = await door.send(path, { ...init, headers });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
      expect(answer.headers.get('access-control-expose-headers')).toBeNull();
      expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/);
    }
  });

  it('a request under an unknown host name can be read by a page of a listed origin', async () => {
    const { headers, status } = await askRaw(`${door.url}/graphql`, {
      headers: { host: 'elsewhere.example', origin },
    });
    expect(status).toBe(403);
    expect(headers['access-control-allow-origin']).toBe(origin);
    expect(headers['access-control-expose-headers']).toContain('X-Request-Id');
  });

  it('a revalidation keeps what the page needs to read the cached answer', async () => {
    const path = '/graphql?query={__typename}';
    const first = await door.send(path, { headers: { origin } });
    const etag = first.headers.get('etag') ?? '';
    const again = await door.send(path, { headers: { origin, 'if-none-match': etag } });
    expect(again.status).toBe(304);
    expect(again.headers.get('access-control-allow-origin')).toBe(origin);
    expect(again.headers.get('access-control-expose-headers')).toContain('ETag');
  });

  it('an unknown caller can be read by a page of a listed origin', async () => {
    const guarded = await openDoor({ AUTH_MODE: 'passthrough', CORS_ORIGINS: origin });
    for (const [path, method] of [
      ['/graphql', 'POST'],
      ['/files/a.txt', 'PUT'],
    ] as const) {
      const init = { method, headers: { ...json, origin }, body: '{"query":"{__typename}"}' };
      const answer = await guarded.send(path, init);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    }
  });
});

describe('without a listed origin', () => {
  it('a preflight is refused with its cause', async () => {
    const none = await openDoor({ AUTH_MODE: 'none' });
    const ask = async (headers: Record<string, string>) =>
      (await none.send('/graphql', { method: 'OPTIONS', headers })).errors[0]?.message;
    expect(await ask({ origin: 'http://localhost:5173' })).toBe(
      'Pages of http://localhost:5173 are not allowed. Set CORS_ORIGINS.',
    );
    expect(await ask({ origin: 'null' })).toBe(
      'Pages of this origin are not allowed. Set CORS_ORIGINS.',
    );
    expect(await ask({ origin: 'https://evil.example/<b>' })).not.toContain('evil');
  });

  it('no answer mentions origins', async () => {
    const closed = await openDoor({ AUTH_MODE: 'none' });
    for (const path of ['/graphql?query={__typename}', '/files/a.txt', '/livez', '/nothing']) {
      const { headers } = await closed.send(path, { headers: { origin } });
      expect(headers.get('access-control-allow-origin')).toBeNull();
      expect(headers.get('access-control-expose-headers')).toBeNull();
      expect(headers.get('vary') ?? '').not.toContain('Origin');
    }
  });
});
