import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RetryOptions, RetryWait } from '../../client/retry.ts';
import { type Asked, ScriptedGateway } from './scripted-gateway.ts';
import { minifiedClient, TimedClient } from './timed-client.ts';

const QUERY = 'query Channels { channels { nodes { id } } }';
const MUTATION = 'mutation Make { createCampaign(input: { name: "A" }) { __typename } }';
const json = 'application/json';

/** An error of the gateway. */
const coded = (code: string, more: object = {}, path?: readonly string[]) => ({
  message: code,
  ...(path && { path }),
  extensions: { code, ...more },
});
const exhausted = (retryAfterMs = 5000, path?: readonly string[]) =>
  coded('BUDGET_EXHAUSTED', { retryAfterMs }, path);

describe('retryingFetch', () => {
  let minified = '';
  let gateway: ScriptedGateway;
  let client: TimedClient;
  let waits: RetryWait[];
  beforeAll(async () => {
    minified = await minifiedClient();
  });
  beforeEach(async () => {
    gateway = await new ScriptedGateway().start();
    client = new TimedClient(minified);
    waits = [];
  });
  afterEach(() => gateway.stop());

  /** Asks as a client of GraphQL does. */
  function ask(
    body: object = { query: QUERY },
    options: RetryOptions = {},
    init: RequestInit = {},
  ): Promise<Response> {
    const send = client.retryingFetch({ onWait: (wait) => waits.push(wait), ...options });
    const headers = { 'content-type': json };
    return send(gateway.url, { method: 'POST', headers, body: JSON.stringify(body), ...init });
  }
  const asked = (): Promise<Asked> => gateway.asked.next();

  const waitOut = (): Promise<number> => client.waitOut(gateway);
  const expectWait = (ms: number, least: number): void => {
    expect(ms).toBeGreaterThanOrEqual(least);
    expect(ms).toBeLessThanOrEqual(least * 1.2);
  };
  /** Nothing was sent again, and nothing will be. */
  const expectDone = (): void => {
    expect([gateway.asked.size, client.waits.size, waits.length]).toEqual([0, 0, 0]);
  };

  it('hands on an answer without errors as it is', async () => {
    const answer = ask();
    (await asked()).answer(200, { data: { text: '"errors"' } }, { 'x-request-id': 'mine' });
    const response = await answer;
    expect(await response.json()).toEqual({ data: { text: '"errors"' } });
    expect(response.headers.get('x-request-id')).toBe('mine');
    expectDone();
  });

  it('sends a query again as late as the error says, and reports the wait', async () => {
    const answer = ask();
    const first = await asked();
    first.answer(200, { data: { channels: null }, errors: [exhausted(5000, ['channels'])] });
    const ms = await waitOut();
    expectWait(ms, 5000);
    expect(waits).toEqual([{ ms, tries: 1 }]);
    const second = await asked();
    expect(second.body).toEqual(first.body);
    expect(second.headers['content-type']).toBe(json);
    second.answer(200, { data: { channels: { nodes: [] } } });
    expect(await (await answer).json()).toEqual({ data: { channels: { nodes: [] } } });
  });

  it('sends it again no sooner than Retry-After says, in seconds or as a date', async () => {
    const answer = ask();
    const body = { errors: [exhausted(2000)] };
    (await asked()).answer(503, body, { 'retry-after': '7' });
    expectWait(await waitOut(), 7000);
    const date = new Date(client.clock.wall() + 9000).toUTCString();
    (await asked()).answer(503, body, { 'retry-after': date });
    // A date has whole seconds.
    const ms = await waitOut();
    expect(ms).toBeGreaterThan(8000);
    expect(ms).toBeLessThanOrEqual(9000 * 1.2);
    (await asked()).answer(200, { data: {} });
    expect((await answer).status).toBe(200);
  });

  it('gives up after three tries, or as many as it is given, with the last answer', async () => {
    const answer = ask();
    for (const tries of [1, 2]) {
      (await asked()).answer(503, { errors: [exhausted(1000)] });
      await waitOut();
      expect(waits).toHaveLength(tries);
    }
    (await asked()).answer(503, { errors: [coded('UPSTREAM_TIMEOUT')] });
    expect(await (await answer).json()).toEqual({ errors: [coded('UPSTREAM_TIMEOUT')] });

    waits = [];
    const once = ask({ query: QUERY }, { tries: 1 });
    (await asked()).answer(503, { errors: [exhausted()] });
    expect((await once).status).toBe(503);
    expectDone();
  });

  it('begins no wait that would be longer than it may wait in all', async () => {
    const answer = ask({ query: QUERY }, { maxWaitMs: 10_000 });
    (await asked()).answer(503, { errors: [exhausted(9000)] });
    const ms = await waitOut();
    expect(ms).toBeLessThanOrEqual(10_000);
    (await asked()).answer(503, { errors: [exhausted(9000)] });
    expect((await answer).status).toBe(503);
    expect(client.waits.size).toBe(0);

    waits = [];
    const never = ask();
    (await asked()).answer(503, { errors: [exhausted(1e300)] });
    expect((await never).status).toBe(503);
    const endless = ask();
    (await asked()).answer(503, { errors: [exhausted()] }, { 'retry-after': '1e400' });
    expect((await endless).status).toBe(503);
    expectDone();
  });

  it('sends nothing again for an error that stays', async () => {
    for (const code of ['BAD_USER_INPUT', 'UPSTREAM_REJECTED', 'OUTCOME_UNKNOWN']) {
      const answer = ask();
      (await asked()).answer(200, { data: null, errors: [coded(code, { retryAfterMs: 1 })] });
      expect((await answer).status).toBe(200);
    }
    const odd = ask();
    (await asked()).answer(200, { errors: [{ message: 'no code' }, null, 'a text'] });
    expect((await odd).status).toBe(200);
    expectDone();
  });

  describe('of what may be a mutation', () => {
    const persisted = { documentId: 'sha256:aa', variables: {} };
    const undone = {
      data: { createCampaign: null },
      errors: [exhausted(1000, ['createCampaign'])],
    };

    it.each([
      ['a mutation', { query: MUTATION }],
      ['an operation that is known by its id', persisted],
    ])('sends %s again where nothing was done', async (_, body) => {
      const answer = ask(body);
      (await asked()).answer(200, undone);
      await waitOut();
      (await asked()).answer(503, { errors: [exhausted(1000)] });
      await waitOut();
      (await asked()).answer(200, { data: { createCampaign: { __typename: 'Campaign' } } });
      expect((await answer).status).toBe(200);
    });

    it.each([
      [
        'one of its fields was done',
        { data: { a: { __typename: 'Campaign' }, b: null }, errors: [exhausted(1000, ['b'])] },
      ],
      [
        'it is unknown whether it was done',
        { data: null, errors: [exhausted(1000, ['a']), coded('OUTCOME_UNKNOWN', {}, ['b'])] },
      ],
      [
        'a part of what was done could not be read',
        { data: { a: null }, errors: [exhausted(1000, ['a', 'id'])] },
      ],
    ])('sends it only once where %s', async (_, body) => {
      for (const operation of [{ query: MUTATION }, persisted]) {
        const answer = ask(operation);
        (await asked()).answer(200, body);
        expect(await (await answer).json()).toEqual(body);
      }
      expectDone();
    });

    it('sends it only once where the connection breaks, or something on the way is busy', async () => {
      const broken = ask({ query: MUTATION });
      (await asked()).cut();
      await expect(broken).rejects.toThrow(TypeError);
      const busy = ask({ query: MUTATION });
      (await asked()).answer(502, '<h1>Bad gateway</h1>', { 'retry-after': '1' });
      expect((await busy).status).toBe(502);
      expectDone();
    });
  });

  describe('of a mutation with an idempotency key', () => {
    const headers = { 'content-type': json, 'idempotency-key': '"key-1"' };
    const send = () => ask({ query: MUTATION }, {}, { headers });

    it.each([
      ['the connection breaks', (first: Asked) => first.cut(), 1000],
      ['something on the way is busy', (first: Asked) => first.answer(502, '<h1>Busy</h1>'), 1000],
      [
        'it is unknown whether it was done, but can be found out',
        (first: Asked) =>
          first.answer(200, {
            data: null,
            errors: [coded('OUTCOME_UNKNOWN', { retryAfterMs: 6e3 })],
          }),
        6000,
      ],
      [
        'another request uses the key',
        (first: Asked) =>
          first.answer(409, { errors: [coded('IDEMPOTENCY_KEY_IN_USE', { retryAfterMs: 2e3 })] }),
        2000,
      ],
      [
        'one of its fields was done',
        (first: Asked) =>
          first.answer(200, {
            data: { a: { id: 'a' }, b: null },
            errors: [exhausted(3000, ['b'])],
          }),
        3000,
      ],
    ])('sends it again with the same key where %s', async (_, end, least) => {
      const answer = send();
      const first = await asked();
      end(first);
      expectWait(await waitOut(), least);
      const second = await asked();
      expect(second.headers['idempotency-key']).toBe('"key-1"');
      second.answer(200, { data: {} });
      expect((await answer).status).toBe(200);
    });

    it.each(['OUTCOME_UNKNOWN', 'IDEMPOTENCY_KEY_REUSED', 'BAD_USER_INPUT'])(
      'sends it only once after %s without a delay',
      async (code) => {
        const answer = send();
        (await asked()).answer(200, { data: null, errors: [coded(code)] });
        expect((await answer).status).toBe(200);
        expectDone();
      },
    );

    it('finds the key in a request and in headers of any kind', async () => {
      const init = { method: 'PUT', body: JSON.stringify({}) };
      const kinds = [new Headers(headers), Object.entries(headers)];
      const requests = kinds.map((each) => ask({}, {}, { ...init, headers: each }));
      requests.push(client.retryingFetch()(new Request(gateway.url, { ...init, headers })));
      const ends = Promise.allSettled(requests);
      const [first, second, third] = [await asked(), await asked(), await asked()];
      for (const each of [first, second, third]) each.cut();
      for (const _ of [1, 2]) {
        await client.clock.advance(2000);
        (await asked()).answer(200, {});
      }
      // The body of a Request can be read only once.
      const statuses = (await ends).map(({ status }) => status);
      expect(statuses).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    });
  });

  it('sends a query again after a connection that broke, twice as late the next time', async () => {
    const answer = ask();
    (await asked()).cut();
    expectWait(await waitOut(), 1000);
    const half = await asked();
    half.answer(200, '{"data":', { 'content-type': json, 'content-length': '1000' });
    await client.clock.settle();
    half.cut();
    expectWait(await waitOut(), 2000);
    (await asked()).cut();
    await expect(answer).rejects.toThrow(TypeError);
  });

  it('sends a query again where something on the way is busy', async () => {
    const answer = ask();
    (await asked()).answer(502, '<h1>Bad gateway</h1>');
    expectWait(await waitOut(), 1000);
    (await asked()).answer(503, { message: 'Not the gateway.' }, { 'retry-after': '4' });
    expectWait(await waitOut(), 4000);
    (await asked()).answer(200, { data: {} });
    expect((await answer).status).toBe(200);
  });

  it('stops with the reason of the signal, in a wait and in a request', async () => {
    const waiting = new AbortController();
    const answer = ask({ query: QUERY }, {}, { signal: waiting.signal });
    (await asked()).answer(503, { errors: [exhausted()] });
    await client.waits.next();
    waiting.abort(new Error('The page was left'));
    await expect(answer).rejects.toThrow('The page was left');
    await client.clock.advance(60_000);
    expect(gateway.asked.size).toBe(0);

    waits = [];
    const sending = new AbortController();
    const sent = ask({ query: QUERY }, {}, { signal: sending.signal });
    const request = await asked();
    sending.abort(new Error('The page was left'));
    await expect(sent).rejects.toThrow('The page was left');
    await request.closed;
    expectDone();
  });

  it('hands on a stream as it comes', async () => {
    const answer = ask();
    const stream = (await asked()).stream('event: next\ndata: {"errors":[]}\n\n');
    const reader = (await answer).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    stream.end();
    expect((await reader?.read())?.done).toBe(true);
    expectDone();
  });

  it('sends a body that can be read only once only once', async () => {
    const body = new Blob([JSON.stringify({ query: QUERY })]).stream();
    const answer = ask({}, {}, { body, duplex: 'half' } as RequestInit);
    (await asked()).answer(503, { errors: [exhausted()] });
    expect((await answer).status).toBe(503);
    const request = new Request(gateway.url, { method: 'POST', body: JSON.stringify({}) });
    const other = client.retryingFetch()(request);
    (await asked()).answer(503, { errors: [exhausted()] });
    expect((await other).status).toBe(503);
    expectDone();
  });

  it('uses the fetch that it is given', async () => {
    const urls: unknown[] = [];
    const send: typeof fetch = (url, init) => {
      urls.push(url);
      return fetch(url, init);
    };
    const answer = ask({ query: QUERY }, { fetch: send });
    (await asked()).answer(200, { data: {} });
    await answer;
    expect(urls).toEqual([gateway.url]);
  });
});
