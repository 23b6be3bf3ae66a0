import { beforeAll, describe, expect, it } from 'vitest';
import { securityHeaders } from '../../src/http/door/every-request.ts';
import { type Door, openDoor } from '../support/door.ts';
import { askRaw } from '../support/raw-reply.ts';

const ORIGIN = 'https://app.example';

let door: Door;
beforeAll(async () => {
  door = await openDoor({
    AUTH_MODE: 'none',
    CORS_ORIGINS: ORIGIN,
    INTROSPECTION: 'true',
  });
});

/** Asks without a library that adds headers or hides any. */
const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
  askRaw(door.url + path, { method, headers });

const html = { accept: 'text/html' };
const reads: [path: string, status: number, headers: Record<string, string>][] = [
  ['/livez', 200, {}],
  ['/readyz', 200, {}],
  ['/metrics', 200, {}],
  ['/metrics', 403, { via: '1.1 proxy' }],
  ['/status', 302, {}],
  ['/console', 200, {}],
  ['/console.json', 200, {}],
  ['/schema.graphql', 200, {}],
  ['/schema.graphql', 403, { origin: 'https://foreign.example' }],
  ['/graphql', 200, html],
  ['/', 200, html],
  ['/', 200, {}],
  ['/none', 404, {}],
  ['/assets/none.js', 404, {}],
  ['/files/a.txt', 405, {}],
];

describe('a plain answer', () => {
  it.each(reads)(
    'of %s with status %i announces its length to HEAD as to GET, and what may be done with it',
    async (path, status, headers) => {
      // Whose text is another at another time.
      const isMoving = path === '/metrics' || path === '/console.json';
      const get = await ask('GET', path, headers);
      const head = await ask('HEAD', path, headers);
      expect([get.status, head.status]).toEqual([status, status]);
      expect(head.text).toBe('');
      expect(get.headers['content-length']).toBe(String(get.bytes.length));
      const its = { date: '', 'x-request-id': '', ...(isMoving && { 'content-length': '' }) };
      expect({ ...head.headers, ...its }).toEqual({ ...get.headers, ...its });
      // Stored by no cache without permission.
      const isContent = status === 200 && 'etag' in get.headers;
      const caching = isContent ? /^(private, )?no-cache$/ : /^no-store$/;
      expect(get.headers['cache-control']).toMatch(caching);
      const { headers: shown } = await ask('GET', path, { origin: ORIGIN, ...headers });
      for (const [name] of securityHeaders) expect(shown).toHaveProperty(name.toLowerCase());
      expect(shown['vary']).toContain('Origin');
    },
  );

  it('says what kind of JSON it is, and which characters', async () => {
    const answers = await Promise.all([
      ask('GET', '/readyz'),
      ask('GET', '/graphql?query={__typename}', { host: 'foreign.example' }),
      ask('GET', '/files/a.txt'),
    ]);
    for (const { headers, text } of answers) {
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(() => JSON.parse(text) as unknown).not.toThrow();
    }
  });
});

describe('content that a browser has', () => {
  it.each([
    ['/console', {}],
    ['/graphql', html],
    ['/', html],
    ['/schema.graphql', {}],
  ])('of %s is not sent again, and keeps its headers', async (path, headers) => {
    const first = await ask('GET', path, headers);
    const etag = String(first.headers['etag']);
    for (const method of ['GET', 'HEAD']) {
      const again = await ask(method, path, { ...headers, 'if-none-match': `"other", ${etag}` });
      expect([again.status, again.text]).toEqual([304, '']);
      // A browser replaces what it has stored with what comes along: a page would have another policy.
      for (const name of ['content-security-policy', 'cache-control', 'vary', 'etag']) {
        expect(again.headers[name]).toBe(first.headers[name]);
      }
      expect(again.headers).not.toHaveProperty('content-length');
      expect(again.headers).not.toHaveProperty('content-type');
    }
  });
});
