import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

/** Status and type of what a client with this `Accept` gets; what it gets is not waited for. */
function typeFor(accept: string, query: string, method: 'GET' | 'POST'): Promise<string> {
  return new Promise((resolve, reject) => {
    const path = method === 'GET' ? `/graphql?${new URLSearchParams({ query })}` : '/graphql';
    const headers = { accept, ...(method === 'POST' && { 'content-type': 'application/json' }) };
    const sent = request(`${door.url}${path}`, { method, headers, agent: false }, (response) => {
      const [type = 'none'] = (response.headers['content-type'] ?? 'none').split(';');
      resolve(`${response.statusCode} ${type}`);
      response.destroy();
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? JSON.stringify({ query }) : undefined);
  });
}

const JSON_ANSWER = '200 application/json';
const GRAPHQL_ANSWER = '200 application/graphql-response+json';
const STREAM = '200 text/event-stream';
const PARTS = '200 multipart/mixed';
const NOT_ACCEPTABLE = '406 application/json';
const PAGE = '200 text/html';

const LIVE = 'query @live { account { username } }';
const DEFERRED = '{ account { username } ... @defer { overlays(first: 1) { nodes { name } } } }';
const PLAIN = '{ account { username } }';

describe.each(['GET', 'POST'] as const)('by %s', (method) => {
  it.each([
    ['text/event-stream', STREAM],
    ['text/event-stream, application/json', STREAM],
    ['text/event-stream;q=0.9, */*;q=0.1', STREAM],
    ['text/event-stream;q=0.001', STREAM],
    ['TEXT/EVENT-STREAM ; Q=1.0', STREAM],
    ['text/event-stream;q=0, text/event-stream;live=age', STREAM],
    ['text/event-stream;q=0', NOT_ACCEPTABLE],
    ['text/event-stream;q=0.000, application/json', JSON_ANSWER],
    ['text/event-stream; q=0 , */*', JSON_ANSWER],
    ['text/event-stream;live=age;q=0, application/json', JSON_ANSWER],
    ['text/event-stream;q=0.5, application/json', JSON_ANSWER],
    ['text/event-stream;q=0.5, */*', JSON_ANSWER],
    ['text/event-stream;q=0.5, application/*;q=0.8', JSON_ANSWER],
    ['text/event-stream;q=0.5, application/json;q=0', STREAM],
    ['text/*', STREAM],
    ['*/*', JSON_ANSWER],
  ])('a live query with Accept: %s is %s', async (accept, answer) => {
    // A family of types is no live query, and its answer is one event.
    expect(await typeFor(accept, LIVE, method)).toBe(answer);
  });

  it.each([
    ['multipart/mixed, application/json', PARTS],
    ['multipart/mixed;q=0.5, application/json;q=0.5', PARTS],
    ['multipart/mixed;q=0, application/json', JSON_ANSWER],
    ['multipart/mixed;q=0.5, application/json', JSON_ANSWER],
    ['multipart/mixed;deferSpec=20220824;q=0.0, application/json', JSON_ANSWER],
    ['multipart/mixed;q=0, text/event-stream', STREAM],
    ['multipart/mixed;q=0.5, text/event-stream', STREAM],
    ['text/event-stream;q=0.5, multipart/mixed', PARTS],
    ['multipart/mixed;q=0', NOT_ACCEPTABLE],
  ])('a query in parts with Accept: %s is %s', async (accept, answer) => {
    expect(await typeFor(accept, DEFERRED, method)).toBe(answer);
  });

  it.each([
    ['application/json;q=0.5, application/graphql-response+json', GRAPHQL_ANSWER],
    ['application/graphql-response+json;q=0.5, application/json', JSON_ANSWER],
    ['application/json;q=0, */*', GRAPHQL_ANSWER],
    ['application/graphql-response+json;q=0, application/*', JSON_ANSWER],
    ['text/event-stream;q=0, application/json;q=0.1', JSON_ANSWER],
    ['application/json;q=0', NOT_ACCEPTABLE],
    ['*/*;q=0', NOT_ACCEPTABLE],
    ['application/json;q=high', JSON_ANSWER],
    ['application/json;q=', JSON_ANSWER],
    ['application/json;q=-1', JSON_ANSWER],
    ['text/plain, image/png', NOT_ACCEPTABLE],
    [`application/json, ${'a/b;q=0.1,'.repeat(1000)}`, JSON_ANSWER],
  ])('a query with Accept: %s is %s', async (accept, answer) => {
    expect(await typeFor(accept, PLAIN, method)).toBe(answer);
    // However often it is asked.
    expect(await typeFor(accept, PLAIN, method)).toBe(answer);
    expect(await typeFor(accept, PLAIN, method)).toBe(answer);
  });
});

describe('a browser', () => {
  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', PAGE],
    ['text/html', PAGE],
    ['text/html;q=0, application/json', JSON_ANSWER],
    ['application/json, text/html;q=0.1', JSON_ANSWER],
    ['application/json, application/xhtml+xml;profile=text/html', JSON_ANSWER],
  ])('with Accept: %s gets %s', async (accept, answer) => {
    expect(await typeFor(accept, PLAIN, 'GET')).toBe(answer);
  });
});

it('spends nothing on what a client does not accept, and counts no operation', async () => {
  const counted = async () =>
    /^gateway_operations_total.*type="unknown".*$/m.exec((await door.send('/metrics')).text)?.[0];
  const before = door.calls();
  const operations = await counted();
  const mutation =
    'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-1" }) { __typename } }';
  for (const query of [mutation, '{ plans { nodes { name } } }']) {
    expect(await typeFor('text/csv', query, 'POST')).toBe(NOT_ACCEPTABLE);
  }
  expect(door.calls()).toBe(before);
  expect(await counted()).toBe(operations);
});
