import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { PLENTY, startWorld, type World, type WorldOptions } from '../support/gateway.ts';

let sandbox: Sandbox;
let world: World | undefined;

beforeAll(async () => {
  sandbox = await startSandbox({ limit: { requests: PLENTY } });
});
afterAll(() => sandbox.close());
afterEach(() => {
  world = undefined;
  sandbox.reset();
});

async function start(options: WorldOptions = {}): Promise<World> {
  world = await startWorld({ on: sandbox, ...options });
  return world;
}

const everything = `query ($code: String!) {
  account { id } domains { totalCount } overlays { totalCount } campaigns { totalCount }
  channels(first: 2) { nodes { items { totalCount } } } splashPages { totalCount }
  files(search: "a b&c=d/ü") { totalCount } pixels { totalCount } qrCodes(first: 1) { nodes { statistics { clicks } } }
  plans { id } users(filter: PRO, email: "a+b@c.de") { id } user(id: 12) { id }
  seller { email } item(id: 204117) { id } purchase(code: $code) { code }
}`;

describe('A request to the link API', () => {
  it('carries the key as a bearer token, and says what it sends, takes and is', async () => {
    const { ask } = await start();
    const { errors } = await ask(everything, { code: sandbox.market.purchaseCodes.valid[0] });
    expect(errors).toEqual([]);
    expect(sandbox.links.requests.length).toBeGreaterThan(12);
    for (const { headers, query, body } of sandbox.links.requests) {
      expect(headers).toMatchObject({
        authorization: `Bearer ${sandbox.links.key}`,
        'content-type': 'application/json',
        accept: 'application/json',
        'user-agent': expect.stringMatching(/^links-market-gateway\b/),
      });
      expect(Object.keys(query)).not.toContain('api_key');
      expect(JSON.stringify({ headers, query })).not.toContain(sandbox.market.key);
      expect(body).toBeUndefined();
    }
  });

  it('asks for pages by limit and page, and passes filters on as they are', async () => {
    const { ask, calls } = await start({ env: { LINKS_PAGE_SIZE: '37' } });
    await ask(everything, { code: 'x' });
    expect(calls()).toContain('GET /api/campaigns?limit=37&page=1');
    expect(calls()).toContain(
      `GET /api/files?${new URLSearchParams({ name: 'a b&c=d/ü', limit: '37', page: '1' })}`,
    );
    expect(calls()).toContain('GET /api/users?filter=pro&email=a%2Bb%40c.de');
    expect(calls()).toContain('GET /api/plans');
  });
});

describe('A request to the marketplace', () => {
  it('carries the key in the query of a GET and in the body of a POST', async () => {
    const { ask } = await start();
    const code = sandbox.market.purchaseCodes.valid[0];
    await ask(everything, { code });
    const [get, post] = ['GET', 'POST'].map((method) =>
      sandbox.market.requests.find((request) => request.method === method),
    );
    expect(get?.query['api_key']).toBe(sandbox.market.key);
    expect(get?.body).toBeUndefined();
    expect(post?.query).toEqual({});
    expect(post?.body).toEqual({ api_key: sandbox.market.key, purchase_code: code });
    for (const { headers } of sandbox.market.requests) {
      expect(headers).toMatchObject({
        accept: 'application/json',
        'user-agent': expect.stringMatching(/^links-market-gateway\b/),
      });
      expect(headers['authorization']).toBeUndefined();
    }
  });

  it.each(['json', 'form', 'query'])(
    'validates a purchase with its parameters as %s',
    async (encoding) => {
      const { data } = await start({ env: { MARKET_POST_ENCODING: encoding } });
      const code = sandbox.market.purchaseCodes.valid[2];
      expect(
        await data('query ($code: String!) { purchase(code: $code) { code } }', { code }),
      ).toEqual({
        purchase: { code },
      });
      const [request] = sandbox.market.requests;
      const parameters = { api_key: sandbox.market.key, purchase_code: code };
      expect(request?.query).toEqual(encoding === 'query' ? parameters : {});
      expect(request?.body).toEqual(encoding === 'query' ? undefined : parameters);
      if (encoding !== 'query') {
        expect(request?.headers['content-type']).toContain(encoding);
      }
    },
  );
});

describe('A base URL', () => {
  it('keeps its path prefix', async () => {
    const other = await startSandbox({ pathPrefix: '/s/t' });
    const { data } = await start({ on: other });
    expect(await data('{ account { username } seller { username } }')).toEqual({
      account: { username: 'studio' },
      seller: { username: 'larkspurfinch' },
    });
    await other.close();
  });
});

describe('A timestamp', () => {
  it('of the link API is in the zone that LINKS_TIMEZONE names', async () => {
    const there = await start({ env: { LINKS_TIMEZONE: 'America/New_York' } });
    const { account: far } = await there.data<{ account: { registered: string } }>(
      '{ account { registered } }',
    );
    await there.close();
    const here = await start();
    const { account: near } = await here.data<{ account: { registered: string } }>(
      '{ account { registered } }',
    );
    const hours = (Date.parse(far.registered) - Date.parse(near.registered)) / 3_600_000;
    expect([4, 5]).toContain(hours);
  });
});

describe('A redirect', () => {
  it.each(['links', 'market'] as const)(
    'of the %s API is never followed: the key stays where it belongs',
    async (api) => {
      const { ask } = await start();
      sandbox[api].fault({
        kind: 'answer',
        rewrite: () => ({
          status: 302,
          headers: { location: `${sandbox[api].url}/api/stolen` },
          body: '',
        }),
      });
      const { errors } = await ask(api === 'links' ? '{ account { id } }' : '{ seller { email } }');
      expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_INVALID_RESPONSE' } }]);
      expect(sandbox[api].requests.map(({ path }) => path)).not.toContain('/api/stolen');
      expect(sandbox[api].requests).toHaveLength(1);
    },
  );
});
