import { type ClientRequest, request } from 'node:http';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { Agent, codeOf } from '../support/agent.ts';
import { type Door, openDoor } from '../support/door.ts';
import { tokenFile } from '../support/folder.ts';

const PATH = '/mcp';
const METADATA = '/.well-known/oauth-protected-resource/mcp';
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

let door: Door;
const open = async (env: Readonly<Record<string, string>> = {}): Promise<Agent> => {
  door = await openDoor({ AUTH_MODE: 'none', ...env });
  return new Agent(door.url);
};

/** Sends a message in the protocol with sessions, of which the first one needs none. */
const post = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  door.send(PATH, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('/mcp', () => {
  it('speaks the protocol with sessions, without a session', async () => {
    await open();
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    };
    const { headers, text } = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    expect(text).toContain('"protocolVersion":"2025-11-25"');
    expect(text).toContain('"instructions"');
    expect(headers.get('mcp-session-id')).toBeNull();
    const listed = await post(LIST, { 'mcp-protocol-version': '2025-11-25' });
    expect(listed.text).toContain('graph_read');
  });

  it.each(['GET', 'DELETE', 'PUT'])('refuses %s', async (method) => {
    await open();
    const { headers, status } = await door.send(PATH, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  it.each([
    ['no JSON', '{"jsonrpc":', 400, -32_700],
    ['a batch', [LIST, LIST], 400, -32_600],
    ['a deep batch', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 400, -32_600],
    ['no message', { hello: 'world' }, 400, expect.any(Number)],
    ['an unknown method', { ...LIST, method: 'tools/explode' }, 200, -32_601],
  ])('refuses %s', async (_, body, status, code) => {
    await open();
    const reply = await post(body);
    const json = /\{.*\}/.exec(reply.text)?.[0] ?? '{}';
    expect([reply.status, JSON.parse(json).error?.code]).toEqual([status, code]);
  });

  it('refuses variables that are nested deeply, and goes on', async () => {
    const agent = await open();
    const deep = `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`;
    const params = `{"name":"graph_read","arguments":{"operation":"{ account { id } }","variables":${deep}}}`;
    const { status } = await post(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
    );
    expect([status, door.calls()]).toEqual([400, 0]);
    expect(door.log()).not.toContain('"level":"error"');
    expect((await agent.call('graph_read', { operation: '{ account { id } }' })).isError).toBe(
      false,
    );
  });

  it('refuses a body that is too large', async () => {
    await open();
    const { code, status } = await post('x'.repeat(256 * 1024 + 1));
    expect([status, code]).toEqual([413, 'BAD_USER_INPUT']);
  });

  it('refuses another content type', async () => {
    await open();
    const { status } = await post(LIST, { 'content-type': 'text/plain' });
    expect(status).toBe(415);
  });

  it('refuses another host, and pages of other origins', async () => {
    await open({ CORS_ORIGINS: 'https://app.example' });
    const hostile = await post(LIST, { origin: 'https://evil.example' });
    expect([hostile.status, hostile.code]).toEqual([403, 'FORBIDDEN']);
    const listed = await post(LIST, { origin: 'https://app.example' });
    expect([listed.status, listed.headers.get('access-control-allow-origin')]).toEqual([
      200,
      'https://app.example',
    ]);
    const preflight = await door.send(PATH, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-headers': 'mcp-method' },
    });
    expect(preflight.headers.get('access-control-allow-headers')).toBe('mcp-method');
  });

  it('is off when it is disabled, and with passthrough unless it is enabled', async () => {
    await open({ MCP: 'false' });
    expect((await post(LIST)).status).toBe(404);
    await door.close();
    await open({ AUTH_MODE: 'passthrough' });
    expect((await post(LIST)).status).toBe(404);
    await door.close();
    await open({ AUTH_MODE: 'passthrough', MCP: 'true' });
    const { links } = door.sandbox;
    expect((await post(LIST)).status).toBe(401);
    const own = new Agent(door.url, links.key);
    expect((await own.call('graph_read', { operation: '{ account { username } }' })).isError).toBe(
      false,
    );
    const wrong = new Agent(door.url, 'made-up-key-0123456789');
    const described = await wrong.call('graph_describe');
    expect([described.isError, codeOf(described)]).toEqual([true, 'UPSTREAM_UNAUTHENTICATED']);
  });

  it('sends nothing that a proxy may store or compress', async () => {
    const agent = await open();
    const { headers } = await agent.open('tools/list');
    expect(headers.get('cache-control')).toBe('no-store, no-transform');
    expect(headers.get('content-encoding')).toBeNull();
  });

  it('has no stream that a client can keep open', async () => {
    const agent = await open();
    const notifications = { toolsListChanged: true };
    const stream = await agent.open('subscriptions/listen', { notifications });
    expect(await stream.text()).toContain('"resultType":"complete"');
  });
});

describe('/mcp with many calls at a time', () => {
  const tokens = ['one', 'other'].map((name) => `${name}-token-0123456789`);
  const file = tokenFile(...tokens.map((name) => ({ name, role: 'viewer' }) as const));

  it('refuses those of one caller, and serves another', async () => {
    await open({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    const [token = '', other = ''] = tokens;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    /** A call whose message never arrives as a whole. */
    const begin = (): Promise<ClientRequest> =>
      new Promise((resolve) => {
        const call = request(`${door.url}/mcp`, {
          method: 'POST',
          headers: { ...headers, 'content-length': 100 },
        });
        call.on('error', () => {});
        call.write('{', () => resolve(call));
      });
    const calls = await Promise.all(Array.from({ length: 64 }, begin));
    const operation = '{ account { username } }';
    const agent = new Agent(door.url, token);
    let refused: Response;
    do {
      refused = await agent.open('tools/list');
      await refused.text();
    } while (refused.status === 200);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    const { isError } = await new Agent(door.url, other).call('graph_read', { operation });
    expect(isError).toBe(false);
    for (const call of calls) call.destroy();
    // The gateway learns of that later.
    while ((await agent.open('tools/list')).status !== 200);
  });
});

describe('/mcp with an identity provider', () => {
  const SECRET = 'a-secret-of-at-least-thirty-two-characters';
  const env = {
    AUTH_MODE: 'jwt',
    AUTH_JWT_SECRET: SECRET,
    AUTH_JWT_ISSUER: 'https://login.example',
    AUTH_JWT_AUDIENCE: 'https://gateway.example/mcp',
  };

  it('says where tokens are, in the challenge and in the metadata', async () => {
    await open(env);
    const { headers, status } = await post(LIST, { 'x-forwarded-proto': 'https' });
    const url = door.url.replace('http:', 'https:');
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="gateway", resource_metadata="${url}${METADATA}"`,
    ]);
    const metadata = await door.send(METADATA, { headers: { 'x-forwarded-proto': 'https' } });
    expect(JSON.parse(metadata.text)).toEqual({
      resource: `${url}/mcp`,
      authorization_servers: ['https://login.example'],
      bearer_methods_supported: ['header'],
    });
  });

  it('admits its tokens', async () => {
    await open(env);
    const token = await new SignJWT({ roles: ['viewer'] })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('ada')
      .setIssuer(env.AUTH_JWT_ISSUER)
      .setAudience(env.AUTH_JWT_AUDIENCE)
      .setExpirationTime(new Date(door.clock.wall() + 60_000))
      .sign(new TextEncoder().encode(SECRET));
    const agent = new Agent(door.url, token);
    expect(
      (await agent.call('graph_read', { operation: '{ account { username } }' })).isError,
    ).toBe(false);
  });

  it('has no metadata without a provider', async () => {
    await open();
    expect((await door.send(METADATA)).status).toBe(404);
    expect((await post(LIST)).status).toBe(200);
  });
});
