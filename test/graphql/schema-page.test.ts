import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';

let door: Door;

const PATH = '/schema.graphql';

describe('the schema as a file', () => {
  it('is what the repository has', async () => {
    door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true' });
    const first = await door.send(PATH);
    expect(first.text).toBe(readFileSync('schema.graphql', 'utf8'));
    expect(first.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(door.calls()).toBe(0);
  });
});

describe.each(['/schema.graphql', '/client.tgz'])('the schema at %s', (path) => {
  it('is shown to callers with access to introspection only', async () => {
    door = await openDoor({ AUTH_MODE: 'passthrough', INTROSPECTION: 'true' });
    const nobody = await door.send(path);
    expect([nobody.status, nobody.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(nobody.headers.get('www-authenticate')).toContain('Bearer');
    const authorization = `Bearer ${door.sandbox.links.keys.pro}`;
    const caller = await door.send(path, { headers: { authorization } });
    // What `npm run build` makes is not there in the sources.
    expect(path === '/client.tgz' ? [200, 503] : [200]).toContain(caller.status);
  });

  it('is not told where introspection is off', async () => {
    door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'false' });
    const { code, status, text } = await door.send(path);
    expect([status, code]).toEqual([403, 'FORBIDDEN']);
    expect(text).toContain('INTROSPECTION=on');
  });

  it('is for reading alone, and for pages that are listed', async () => {
    door = await openDoor({
      AUTH_MODE: 'none',
      INTROSPECTION: 'true',
      CORS_ORIGINS: 'https://app.example',
    });
    expect((await door.send(path, { method: 'POST' })).status).toBe(405);
    const listed = await door.send(path, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example' },
    });
    expect(listed.headers.get('access-control-allow-methods')).toBe('GET');
    const foreign = await door.send(path, {
      headers: { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' },
    });
    expect(foreign.code).toBe('FORBIDDEN');
  });
});
