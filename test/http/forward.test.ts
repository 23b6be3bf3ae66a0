import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Forwarding } from '../../src/http/forward.ts';
import { Port } from '../../src/http/socket/port.ts';
import { asTimePasses } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const ends: (() => unknown)[] = [];
afterEach(() => Promise.all(ends.splice(0).map((end) => end())));

/** A process that may be the owner, as a server. */
async function owning(answer: RequestListener): Promise<string> {
  let isSuspended = false;
  const server: Server = createServer((request, response) => {
    isSuspended ||= answer === suspended && request.url !== '/livez';
    if (isSuspended) return;
    if (request.url === '/livez') response.end('ok');
    else answer(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As a process that is suspended with the first request: its connections stay, and nothing is answered. */
const suspended: RequestListener = () => {};

/** A process that forwards to whoever `owners` names at the moment. */
async function waiting(owners: { url: string | null }) {
  const clock = new VirtualClock();
  const forwarding = new Forwarding({
    clock,
    maxWaitMs: 1000,
    operations: null,
    owner: async () => (owners.url === null ? null : { url: owners.url, secret: 'secret' }),
  });
  const port = new Port({ clock, graceMs: 0 });
  port.handle = (request, response) => forwarding.forward(request, response, port.drain);
  const { url } = await port.listen(0, '127.0.0.1');
  ends.push(async () => {
    await forwarding.close();
    await port.close();
  });
  return { clock, forwarding, url };
}

const asked = (url: string, query: string) =>
  fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });

describe('A request that is forwarded', () => {
  it('waits for an owner, and is refused with when to come back if there is none in time', async () => {
    const owners: { url: string | null } = { url: null };
    const { clock, url } = await waiting(owners);
    const refused = await asTimePasses(clock, asked(url, '{ a }'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({
      errors: [{ extensions: { code: 'BUDGET_EXHAUSTED', reason: 'handover' } }],
    });
    const later = asked(url, '{ a }');
    owners.url = await owning((_, response) => response.end('served'));
    expect(await (await asTimePasses(clock, later)).text()).toBe('served');
  });

  it('goes to the next owner if one says that it is none, whatever it changes', async () => {
    const owners = { url: await owning((_, response) => void response.writeHead(421).end()) };
    const { clock, forwarding, url } = await waiting(owners);
    const answer = asked(url, 'mutation { a }');
    while (forwarding.counts.repeats === 0) await clock.advance(50);
    owners.url = await owning((_, response) => response.end('served'));
    expect(await (await asTimePasses(clock, answer)).text()).toBe('served');
  });

  it('is refused after a while if each owner says that it is none', async () => {
    const owner = await owning((_, response) => void response.writeHead(421).end());
    const { clock, url } = await waiting({ url: owner });
    expect((await asTimePasses(clock, asked(url, '{ a }'))).status).toBe(503);
  });

  it('is taken from an owner that gives no answer for seconds', async () => {
    const owners: { url: string | null } = { url: await owning(suspended) };
    const { clock, forwarding, url } = await waiting(owners);
    const told: true[] = [];
    ends.push(
      forwarding.watch(() => {
        told.push(true);
        owners.url = null;
      }),
    );
    const answer = asked(url, '{ a }');
    while (told.length === 0) await clock.advance(50);
    owners.url = await owning((_, response) => response.end('served'));
    expect(await (await asTimePasses(clock, answer)).text()).toBe('served');
  });

  it('has an owner that is said to be silent once until it answers', async () => {
    const { clock, forwarding, url } = await waiting({ url: await owning(suspended) });
    const told: boolean[] = [];
    ends.push(forwarding.watch((isNew) => told.push(isNew)));
    const answer = asked(url, '{ a }');
    while (told.length < 3) await clock.advance(50);
    expect(told).toEqual([true, false, false]);
    expect((await asTimePasses(clock, answer)).status).toBe(503);
  });

  it('passes on no header of a connection, and the sender only if it is signed', async () => {
    let headers: Record<string, unknown> = {};
    const owner = await owning((request, response) => {
      ({ headers } = request);
      response.writeHead(200, { 'x-kept': 'yes', 'keep-alive': 'timeout=1', 'x-two': ['a', 'b'] });
      response.end();
    });
    const { clock, url } = await waiting({ url: owner });
    const sent = fetch(url, { headers: { te: 'trailers', 'x-own': 'mine', prefer: 'wait=1' } });
    const response = await asTimePasses(clock, sent);
    expect(headers).toMatchObject({ 'x-own': 'mine', prefer: 'wait=1', host: new URL(url).host });
    expect(headers['x-gateway-sender']).toMatch(/^[\w-]{43} 1\.1 (::ffff:)?127\.0\.0\.1$/);
    expect(headers).not.toHaveProperty('te');
    expect(response.headers.get('x-two')).toBe('a, b');
    expect(response.headers.get('keep-alive')).toBe('timeout=65');
  });

  it('is cut off for its sender if its owner ends in the middle of the response', async () => {
    const owner = await owning((_, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => response.destroy());
    });
    const { clock, url } = await waiting({ url: owner });
    const response = await asTimePasses(clock, asked(url, '{ a }'));
    await expect(response.text()).rejects.toThrow();
  });
});
