import { beforeEach, describe, expect, it } from 'vitest';
import type { World } from '../support/gateway.ts';
import { code, uploadWorlds } from '../support/upload-worlds.ts';
import { upload } from '../support/uploads.ts';

const worlds = uploadWorlds({ uploadMaxBytes: '4000000' });
const { open, received } = worlds;
let world: World;
let url: string;
beforeEach(() => {
  ({ world, url } = worlds.current());
});

describe('who may upload', () => {
  it.each(['GET', 'HEAD', 'POST', 'DELETE'])('not by %s', async (method) => {
    const response = await fetch(`${url}/files/a.txt`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'PUT, OPTIONS']);
    expect(world.calls()).toEqual([]);
  });

  const origin = 'https://app.example.com';

  it('a page of a listed origin, which asks first', async () => {
    const { url } = await open({ env: { CORS_ORIGINS: origin } });
    const preflight = await fetch(`${url}/files/a.txt`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'content-type,prefer',
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'PUT',
      'access-control-allow-headers': 'content-type,prefer',
      vary: 'Origin',
    });
    const answer = await upload(url, '/files/a.txt', 'x', {
      origin,
      'sec-fetch-site': 'cross-site',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
  });

  it('no page of another origin', async () => {
    const { url } = await open({ env: { CORS_ORIGINS: origin } });
    const foreign = { origin: 'https://elsewhere.example' };
    const preflight = await fetch(`${url}/files/a.txt`, { method: 'OPTIONS', headers: foreign });
    expect(preflight.headers.get('access-control-allow-origin')).toBe(null);
    expect(preflight.headers.get('access-control-allow-methods')).toBe(null);
    const marked = { ...foreign, 'sec-fetch-site': 'cross-site' };
    const answer = await upload(url, '/files/a.txt', 'x', marked);
    expect([answer.status, code(answer)]).toEqual([403, 'FORBIDDEN']);
    expect(received()).toEqual([]);
  });
});
