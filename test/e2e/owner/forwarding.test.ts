import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { askRaw } from '../../support/raw-reply.ts';
import { type Household, type Member, openHousehold } from '../../support/two-processes.ts';

/** For machines that are busy. */
const PATIENT = { timeout: 30_000 };

let house: Household;
let owner: Member;
let waiting: Member;
beforeAll(async () => {
  house = await openHousehold({ CORS_ORIGINS: 'https://page.example' });
  owner = await house.join({ INTROSPECTION: 'on' });
  waiting = await house.join();
});
afterAll(() => house.close());

const json = { 'content-type': 'application/json' };

async function ask(of: Member, query: string, variables = {}, headers = {}) {
  const body = JSON.stringify({ query, variables });
  const init = { method: 'POST', headers: { ...json, ...headers }, body };
  return (await fetch(`${of.url}/graphql`, init)).json();
}

/** Sends a request from an address of this machine, and reads the response as it is. */
const send = (to: Member, path: string, headers = {}, localAddress = '127.0.0.1') =>
  askRaw(to.url + path, { headers, localAddress });

describe('A process that waits for the store', () => {
  it('answers queries from the cache of the owner', async () => {
    const query = '{ pixels { totalCount } }';
    const first = await ask(owner, query);
    const before = house.sandbox.links.requests.length;
    const { data, extensions } = await ask(waiting, query);
    expect(data).toEqual(first.data);
    expect(extensions.upstream.calls).toBe(0);
    expect(house.sandbox.links.requests.length).toBe(before);
  });

  it('answers probes and metrics for itself, and names the owner', async () => {
    expect((await send(waiting, '/livez')).text).toBe('ok\n');
    const url = owner.url;
    const of = async (member: Member) => JSON.parse((await send(member, '/readyz')).text);
    expect(await of(waiting)).toMatchObject({ ready: true, owner: { url, isThis: false } });
    expect(await of(owner)).toMatchObject({ ready: true, owner: { url, isThis: true } });
    expect((await send(waiting, '/metrics')).text).toMatch(/^gateway_owner 0$/m);
    expect((await send(owner, '/metrics')).text).toMatch(/^gateway_owner 1$/m);
  });

  it('says on the port of operators which process serves the console', async () => {
    const port = await freePort();
    const member = await house.join({ METRICS_PORT: String(port) });
    const operators = { ...member, url: `http://127.0.0.1:${port}` };
    expect((await send(operators, '/metrics')).text).toMatch(/^gateway_owner 0$/m);
    const { text, status } = await send(operators, '/console');
    expect([status, text]).toEqual([403, expect.stringContaining(owner.url)]);
    await member.stop();
  });

  it('tells the owner from which address a request came, and that a proxy passed it on', async () => {
    const path = `/graphql?query=${encodeURIComponent('query fromElsewhere { __typename }')}`;
    const headers = { 'apollo-require-preflight': '1' };
    expect((await send(waiting, path, headers, '127.0.0.9')).status).toBe(200);
    await owner.running.says(/"operation":"fromElsewhere".*"caller":"127\.0\.0\.9"/);
    expect((await send(waiting, '/console.json')).status).toBe(200);
    const passedOn = { 'x-forwarded-for': '203.0.113.9' };
    expect((await send(waiting, '/console.json', passedOn)).status).toBe(403);
  });

  it('answers preflights while its owner is suspended', async () => {
    owner.running.child.kill('SIGSTOP');
    const headers = {
      origin: 'https://page.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    };
    const response = await fetch(`${waiting.url}/graphql`, { method: 'OPTIONS', headers });
    owner.running.child.kill('SIGCONT');
    expect([response.status, response.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'content-type',
    ]);
  });

  it.each(['owner', 'waiting'] as const)(
    'is not imitated by a forged sender at the %s',
    async (which) => {
      const of = which === 'owner' ? owner : waiting;
      for (const sender of ['', 'x', `${'A'.repeat(43)} 1.1 127.0.0.1`]) {
        const from = { 'x-gateway-sender': sender, origin: 'https://page.example' };
        const { text, headers, status } = await send(of, '/console.json', from);
        expect([status, text]).toEqual([421, expect.stringMatching(/sender.*not valid/)]);
        expect(headers['access-control-allow-origin']).toBe('https://page.example');
      }
    },
  );

  it('passes on HEAD, compressed bodies and validators', async () => {
    const whole = await send(owner, '/schema.graphql');
    const packed = await send(waiting, '/schema.graphql', { 'accept-encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.text).toBe(whole.text);
    const { etag = '' } = whole.headers;
    expect((await send(waiting, '/schema.graphql', { 'if-none-match': etag })).status).toBe(304);
    const head = await fetch(`${waiting.url}/schema.graphql`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(head.headers.get('etag')).toBeTruthy();
  });

  it('streams an upload', async () => {
    const bytes = Buffer.alloc(3 * 1024 * 1024, 'forwarded');
    const init = { method: 'PUT', body: bytes, headers: { 'content-type': 'image/png' } };
    const response = await fetch(`${waiting.url}/files/forwarded.png`, init);
    expect([response.status, await response.text()]).toEqual([201, expect.any(String)]);
    expect(house.sandbox.links.requests.map(({ body }) => body)).toContain(bytes.length);
  });

  it('streams live queries, and ends them at the owner when their viewer has gone', async () => {
    const live = async () =>
      /^gateway_live_streams (\d+)$/m.exec((await send(owner, '/metrics')).text)?.[1];
    const sent = request(`${waiting.url}/graphql`, {
      method: 'POST',
      headers: { ...json, accept: 'text/event-stream' },
    }).end(JSON.stringify({ query: 'query @live { channels(first: 1) { totalCount } }' }));
    const [response] = await once(sent, 'response');
    expect(response.headers['content-type']).toMatch(/^text\/event-stream/);
    const seen = await firstMatch(response, /"totalCount":(\d+)/);
    await ask(owner, 'mutation { createChannel(input: { name: "Live" }) { __typename } }');
    await firstMatch(response, new RegExp(`"totalCount":${Number(seen) + 1}\\b`));
    expect(await live()).toBe('1');
    sent.destroy();
    await expect.poll(live, PATIENT).toBe('0');
  });

  it('passes on a part of a download', async () => {
    const start =
      'mutation { startExport(input: { query: "{ channels { nodes { id name } } }" }) { ... on Job { url } } }';
    const { url: path } = (await ask(owner, start)).data.startExport;
    const whole = async () => (await fetch(owner.url + path)).text();
    await expect.poll(whole, PATIENT).toMatch(/"name"/);
    const part = await send(waiting, path, { range: 'bytes=3-20' });
    expect([part.status, part.text]).toEqual([206, (await whole()).slice(3, 21)]);
  });
});

/** Reads a stream, which stays open, until it matches; returns the first group. */
async function firstMatch(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> {
  let seen = '';
  for (;;) {
    const match = pattern.exec(seen);
    if (match) return match[1] ?? '';
    const [piece] = await once(stream, 'data');
    seen += String(piece);
  }
}
