import { beforeAll, describe, expect, it } from 'vitest';
import { openSandbox, startWorld, type World } from '../support/gateway.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});

const deferred = '{ account { username } ... @defer { overlays(first: 2) { nodes { name } } } }';
const streamed = '{ plans @stream(initialCount: 1) { name } }';
const plain = '{ account { username } overlays(first: 2) { nodes { name } } }';

/** What a client sends, and what comes back: raw, since what its form is is what is asked here. */
async function send(
  query: string,
  accept: string | null,
  more: { method?: 'GET' | 'POST'; headers?: Record<string, string>; variables?: object } = {},
): Promise<{ status: number; type: string; text: string; headers: Headers }> {
  const headers = {
    'content-type': 'application/json',
    ...(accept === null ? {} : { accept }),
    ...more.headers,
  };
  const { variables } = more;
  const response = await world.gateway.fetch(
    more.method === 'GET'
      ? new Request(`http://gateway/graphql?query=${encodeURIComponent(query)}`, { headers })
      : new Request('http://gateway/graphql', {
          method: 'POST',
          headers,
          body: JSON.stringify({ query, variables }),
        }),
  );
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
    headers: response.headers,
  };
}

/** The parts of a multipart answer, or of one that comes as events. */
function partsOf(text: string): Record<string, unknown>[] {
  return [...text.matchAll(/^(?:data: )?(\{.*\})\r?$/gm)].map(([, part = '']) => JSON.parse(part));
}

const JSON_TYPE = 'application/json; charset=utf-8';
const GRAPHQL_TYPE = 'application/graphql-response+json; charset=utf-8';

describe('An answer with @defer', () => {
  it.each([
    ['no Accept', null, JSON_TYPE],
    ['anything', '*/*', JSON_TYPE],
    ['a family of types', 'multipart/*, application/json', JSON_TYPE],
    ['JSON', 'application/json', JSON_TYPE],
    ['GraphQL’s JSON', 'application/graphql-response+json', GRAPHQL_TYPE],
    [
      'Apollo Client’s newer format',
      'multipart/mixed;incrementalSpec=v0.2,application/graphql-response+json,application/json;q=0.9',
      GRAPHQL_TYPE,
    ],
    ['the newer format, spelt out', 'Multipart/Mixed; IncrementalSpec="v0.2"', JSON_TYPE],
    ['the newer format alone', 'multipart/mixed;incrementalSpec=v0.2', JSON_TYPE],
    ['events of the newer format', 'text/event-stream;incrementalSpec=v0.2', JSON_TYPE],
    ['a draft nobody knows', 'multipart/mixed;deferSpec=20300101, application/json', JSON_TYPE],
    [
      'subscriptions’ protocol',
      'multipart/mixed;subscriptionSpec=1.0, application/json',
      JSON_TYPE,
    ],
  ])('comes whole to a client that accepts %s', async (_, accept, type) => {
    const { data } = JSON.parse((await send(plain, 'application/json')).text);
    const answer = await send(deferred, accept);
    expect([answer.status, answer.type]).toEqual([200, type]);
    const whole = JSON.parse(answer.text);
    expect(whole.data).toEqual(data);
    expect(whole).not.toHaveProperty('hasNext');
    expect(whole.extensions.upstream).toMatchObject({ calls: 0, saved: { cache: 2 } });
  });

  it.each([
    ['parts of no named format', 'multipart/mixed', 'multipart/mixed'],
    [
      'the format that Apollo Client asks for by default',
      'multipart/mixed;deferSpec=20220824,application/graphql-response+json,application/json;q=0.9',
      'multipart/mixed',
    ],
    ['the same by its later name', 'multipart/mixed;incrementalSpec=v0.1', 'multipart/mixed'],
    [
      'both formats',
      'multipart/mixed;incrementalSpec=v0.2, multipart/mixed;deferSpec=20220824',
      'multipart/mixed',
    ],
    [
      'what urql does',
      'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
      'multipart/mixed',
    ],
    ['events', 'text/event-stream, application/json', 'text/event-stream'],
    [
      'events, and parts of a form that is not spoken',
      'multipart/mixed;incrementalSpec=v0.2, text/event-stream',
      'text/event-stream',
    ],
  ])('comes in parts to a client that accepts %s', async (_, accept, type) => {
    const answer = await send(deferred, accept);
    expect([answer.status, answer.type.split(';')[0]]).toEqual([200, type]);
    const parts = partsOf(answer.text);
    expect(parts[0]).toMatchObject({ data: { account: {} }, hasNext: true });
    expect(parts.at(-1)).toMatchObject({ incremental: [{}], hasNext: false });
  });

  it('comes whole through a fragment with a name, a variable and a label', async () => {
    const query = `query ($later: Boolean!) { account { ...A @defer(if: $later, label: "a") } }
      fragment A on Account { username ... @defer(label: "b") { email } }`;
    const answer = await send(query, 'application/json', { variables: { later: true } });
    expect(JSON.parse(answer.text)).toMatchObject({
      data: { account: { username: expect.any(String), email: expect.any(String) } },
    });
  });

  it('that comes whole may be kept by a browser, and asked for again by its tag', async () => {
    const answer = await send(deferred, 'application/json', { method: 'GET' });
    const etag = answer.headers.get('etag') ?? '';
    expect(etag).toBe((await send(plain, null, { method: 'GET' })).headers.get('etag'));
    expect(answer.headers.get('age')).toMatch(/^\d+$/);
    expect(answer.headers.get('vary')).toMatch(/\baccept\b/i);
    const headers = { 'if-none-match': etag };
    const again = await send(deferred, 'application/json', { method: 'GET', headers });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('is found faulty as ever', async () => {
    const query = '{ account @defer { username } }';
    const { errors } = JSON.parse((await send(query, 'application/json')).text);
    expect(errors[0]).toMatchObject({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } });
  });

  it('is priced whole by a dry run, in any form that is accepted', async () => {
    const headers = { 'x-gateway-dry-run': '1' };
    for (const accept of ['application/json', 'multipart/mixed;incrementalSpec=v0.2']) {
      const { text } = await send('{ ... @defer { files(first: 1) { totalCount } } }', accept, {
        headers,
      });
      expect(JSON.parse(text)).toMatchObject({
        data: null,
        extensions: { plan: { calls: 1 }, upstream: { calls: 0 } },
      });
    }
  });
});

describe('An answer with @stream', () => {
  it('comes whole to a client that accepts JSON only', async () => {
    const answer = await send(streamed, 'application/json');
    const { data, extensions } = JSON.parse(answer.text);
    expect(data.plans.length).toBeGreaterThan(2);
    expect(extensions.upstream).toHaveProperty('calls');
  });

  it('comes row by row to a client that can take it', async () => {
    const { type, text } = await send(streamed, 'multipart/mixed;deferSpec=20220824');
    expect(type).toMatch(/^multipart\/mixed/);
    expect(partsOf(text)[0]).toMatchObject({ data: { plans: [{}] }, hasNext: true });
  });
});

describe('A deferred part that fails', () => {
  it('is an error of the whole answer, masked and with its path', async () => {
    const sandbox = await openSandbox();
    const failing = await startWorld({ on: sandbox });
    sandbox.links.fault({
      kind: 'answer',
      path: '/api/overlay',
      rewrite: (answer) => ({ ...answer, status: 500, body: 'down' }),
    });
    const { data, errors, receipt } = await failing.ask(deferred);
    expect(data).toMatchObject({ account: { username: expect.any(String) }, overlays: null });
    expect(errors).toMatchObject([{ path: ['overlays'], extensions: { upstream: 'LINKS' } }]);
    expect(receipt.calls).toBeGreaterThanOrEqual(2);
    await failing.close();
    await sandbox.close();
  });
});
