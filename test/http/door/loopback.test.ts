import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { createGateway, type Gateway } from '../../../src/gateway.ts';
import { type Door, openDoor } from '../../support/door.ts';

let gateway: Gateway | undefined;
let door: Door | undefined;
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
  door = undefined;
});

const preflight = (origin: string) => ({
  method: 'OPTIONS',
  headers: { origin, 'access-control-request-method': 'POST' },
});

/** A gateway on its embedded sandbox, and what it has logged. */
async function onSandbox(): Promise<{ url: string; log: () => string }> {
  let log = '';
  gateway = await createGateway(loadConfig({ PORT: '0' }), {
    log: { write: (line) => void (log += line) },
  });
  return { url: (await gateway.listen()).url, log: () => log };
}

describe('a page of this machine', () => {
  it.each([
    'http://localhost:5173',
    'http://127.0.0.1:8000',
    'https://localhost',
    'http://[::1]:1',
  ])('may call a gateway that is on its sandbox: %s', async (origin) => {
    const { url } = await onSandbox();
    const asked = await fetch(`${url}/graphql`, preflight(origin));
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
    const answer = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' },
      body: '{"query":"{ account { username } }"}',
    });
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(await answer.text()).toContain('studio');
  });

  it.each([
    'https://localhost.example',
    'http://localhost@evil.example',
    'http://127.0.0.1.example:80',
    'null',
    'https://app.example',
    'evilhttp://localhost:5173',
    'http://evillocalhost',
    'http://localhost:5173/',
    'http://localhost:123456',
    'http://127.0.0.1.evil.example',
  ])('is not one of another: %s', async (origin) => {
    const { url } = await onSandbox();
    const { headers } = await fetch(`${url}/graphql`, preflight(origin));
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('may not call a gateway that is on real upstreams', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    const { headers } = await door.send('/graphql', preflight('http://localhost:5173'));
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('a page that is refused', () => {
  it('stands in the log once, with what to set', async () => {
    door = await openDoor({ AUTH_MODE: 'none', CORS_ORIGINS: 'https://one.example' });
    for (let n = 0; n < 3; n += 1) await door.send('/graphql', preflight('https://two.example'));
    const told = door
      .log()
      .split('\n')
      .filter((line) => line.includes('two.example'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('CORS_ORIGINS=https://one.example,https://two.example');
    await door.send('/graphql', preflight('https://one.example'));
    expect(door.log()).not.toContain('page of https://one.example');
  });

  it('cannot fill the log, nor write into it', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    for (let n = 0; n < 100; n += 1) {
      await door.send('/graphql', preflight(`https://page${n}.example`));
    }
    await door.send('/graphql', preflight('https://a b" c'));
    expect(door.log().split('A request from a page of').length - 1).toBe(20);
    const other = await openDoor({ AUTH_MODE: 'none' });
    for (const origin of [
      'https://a.example/x',
      'https://A.example',
      'https://a.example:443',
      'x',
    ]) {
      await other.send('/graphql', preflight(origin));
    }
    expect(other.log()).not.toContain('A request from a page of');
    await other.close();
    expect(door.log()).not.toContain('a b');
  });
});
