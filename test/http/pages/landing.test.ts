import { afterEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';

let door: Door | undefined;
afterEach(() => {
  door = undefined;
});

const accept = 'text/html,application/xhtml+xml';
const linksOf = (html: string) => [...html.matchAll(/<a href="([^"]+)"/g)].map(([, path]) => path);

describe('the page at /', () => {
  it('links to what there is, and every link leads to something', async () => {
    door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'on' });
    const page = await door.send('/', { headers: { accept } });
    const { status, headers, text } = page;
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    const paths = linksOf(text);
    expect(paths).toEqual(['/graphql', '/console', '/schema.graphql', '/client.tgz', '/readyz']);
    for (const path of paths) {
      const answer = await door.send(path ?? '', { headers: { accept } });
      // In the sources the pages of the browser are not built.
      expect([200, 503]).toContain(answer.status);
      expect(answer.text).not.toContain('There is nothing here');
    }
    const etag = headers.get('etag') ?? '';
    const again = await door.send('/', { headers: { accept, 'if-none-match': etag } });
    expect(again.status).toBe(304);
    expect(door.calls()).toBe(0);
  });

  it('leaves out the console where that has a port of its own', async () => {
    door = await openDoor({ AUTH_MODE: 'none', METRICS_PORT: '0' });
    const { text } = await door.send('/', { headers: { accept } });
    expect(linksOf(text)).toEqual(['/graphql', '/readyz']);
  });

  it('is plain text to a program, and answers GET and HEAD only', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    const { status, headers, text } = await door.send('/', { headers: { accept: '*/*' } });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(headers.get('vary')).toContain('Accept');
    expect(text).toMatch(/^\/graphql +\S/m);
    expect(text).not.toContain(door.sandbox.links.url);
    expect((await door.send('/', { method: 'HEAD' })).status).toBe(200);
    expect((await door.send('/', { method: 'POST' })).status).toBe(405);
  });
});
