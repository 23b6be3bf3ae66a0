import { describe, expect, it } from 'vitest';
import { smallServer } from '../support/small-graph.ts';

const url = 'http://gateway/graphql';
const json = { 'content-type': 'application/json' };
const hello = JSON.stringify({ query: '{ hello }' });

describe('GraphQL over HTTP', () => {
  it.each([
    ['application/graphql-response+json', 'application/graphql-response+json; charset=utf-8'],
    ['application/json', 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
  ])('answers Accept: %s as %s', async (accept, type) => {
    const { server } = smallServer();
    const response = await server.fetch(url, {
      method: 'POST',
      headers: { ...json, accept },
      body: hello,
    });
    expect(response.headers.get('content-type')).toBe(type);
    expect(await response.json()).toEqual({ data: { hello: 'hello world' } });
  });

  it('answers a query by GET, and never a mutation', async () => {
    const { server } = smallServer();
    const read = await server.fetch(`${url}?query={hello}`);
    expect(await read.json()).toEqual({ data: { hello: 'hello world' } });
    const write = await server.fetch(`${url}?query=mutation{write}`);
    expect(write.status).toBe(405);
    expect(await write.json()).toMatchObject({
      errors: [{ extensions: { code: 'BAD_USER_INPUT' } }],
    });
  });

  it('answers an operation whose address ends like that of a probe', async () => {
    const { server } = smallServer();
    const read = await server.fetch(`${url}?query={hello}&page=/health`);
    expect(await read.json()).toEqual({ data: { hello: 'hello world' } });
    const write = await server.fetch(`${url}?from=/health`, {
      method: 'POST',
      headers: { ...json },
      body: hello,
    });
    expect(await write.json()).toEqual({ data: { hello: 'hello world' } });
  });

  it('refuses a body of unannounced length once it is too long', async () => {
    const { server } = smallServer();
    const send = async (bytes: number): Promise<Response> =>
      server.fetch(url, {
        method: 'POST',
        headers: { ...json },
        body: new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(hello.padEnd(bytes)));
            controller.close();
          },
        }),
        duplex: 'half',
      } as RequestInit);
    expect((await send(1000)).status).toBe(200);
    const response = await send(1001);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'BAD_USER_INPUT' } }],
    });
  });
});

describe('a page of another origin', () => {
  const from = (origin: string) => ({ ...json, origin });

  it('is told nothing when no origin is listed', async () => {
    const { server } = smallServer();
    const response = await server.fetch(url, {
      method: 'POST',
      headers: from('https://evil.example'),
      body: hello,
    });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('may call when it is listed, without cookies', async () => {
    const { server } = smallServer({ corsOrigins: ['https://app.example'] });
    const response = await server.fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(response.headers.get('access-control-allow-headers')).toBe('content-type');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
    expect(response.headers.get('vary')).toContain('Origin');
  });

  it.each(['https://evil.example', 'null'])('is told nothing when it is %s', async (origin) => {
    const { server } = smallServer({
      corsOrigins: ['https://app.example', 'https://other.example'],
    });
    const response = await server.fetch(url, {
      method: 'POST',
      headers: from(origin),
      body: hello,
    });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(response.headers.get('vary')).toContain('Origin');
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'cannot post %s, which needs no leave of ours',
    async (type) => {
      const { server } = smallServer();
      const response = await server.fetch(url, {
        method: 'POST',
        headers: { 'content-type': type },
        body: 'query={hello}',
      });
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({
        errors: [{ extensions: { code: 'FORBIDDEN' } }],
      });
    },
  );

  it('cannot spend the budget by a GET either, unless it is listed', async () => {
    const { server } = smallServer({ corsOrigins: ['https://app.example'] });
    const get = async (headers: Record<string, string>): Promise<number> =>
      (await server.fetch(`${url}?query={hello}`, { headers })).status;
    expect(await get({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await get({ 'sec-fetch-site': 'cross-site', origin: 'https://app.example' })).toBe(200);
    expect(await get({ 'sec-fetch-site': 'same-origin' })).toBe(200);
    // What comes through `fetch` names its host in its address.
    expect(await get({ origin: new URL(url).origin })).toBe(200);
    expect(await get({ origin: 'http://evil.example' })).toBe(403);
    expect(await get({ origin: 'http://evil.example', host: 'evil.example' })).toBe(200);
  });
});
