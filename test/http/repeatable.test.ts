import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isRepeatable } from '../../src/http/repeatable.ts';

const operations = new Map([
  ['read', '{ account { username } }'],
  ['change', 'mutation { deleteCta(id: 1) { id } }'],
]);

/** Whether a request to `/graphql` may be sent again; by default a POST of JSON. */
function repeatable(body: object | string | null, more: object = {}, headers: object = {}) {
  const request = Object.assign(new IncomingMessage(new Socket()), {
    method: 'POST',
    url: '/graphql',
    headers: { 'content-type': 'application/json', ...headers },
    ...more,
  });
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return isRepeatable(request, body === null ? null : Buffer.from(text), operations);
}

const query = 'query Read { a } mutation Change { b } mutation Keyed { c @idempotent(key: "k") }';

describe('A request that may have been executed', () => {
  it.each([
    ['a query', { query: '{ a }' }],
    ['a query of several operations', { query, operationName: 'Read' }],
    ['a mutation with a key for each field', { query, operationName: 'Keyed' }],
    ['a listed query', { documentId: 'read' }],
    ['a text that has no such operation', { query, operationName: 'Nothing' }],
  ])('is sent again for %s', (_, body) => {
    expect(repeatable(body)).toBe(true);
  });

  it.each([
    ['a mutation', { query: 'mutation { b }' }],
    ['the mutation of several operations', { query, operationName: 'Change' }],
    [
      'a mutation of which one field has a key',
      { query: 'mutation { b c @idempotent(key: "k") }' },
    ],
    ['a fragment in a mutation', { query: 'mutation { ...f } fragment f on Mutation { b }' }],
    ['a listed mutation', { documentId: 'change' }],
    ['an operation that is not listed', { documentId: 'other' }],
    ['a list of operations', [{ query: '{ a }' }]],
    ['a text that cannot be parsed', { query: '{' }],
    ['a body that cannot be parsed', '{'],
    ['a body that was not kept', null],
  ])('is not sent again for %s', (_, body) => {
    expect(repeatable(body)).toBe(false);
  });

  it('is sent again if it reads or has the header with a key, wherever it goes', () => {
    expect(repeatable(null, { method: 'GET', url: '/jobs/a/data' })).toBe(true);
    expect(repeatable(null, { method: 'PUT', url: '/files/a' })).toBe(false);
    const key = { 'idempotency-key': 'k' };
    expect(repeatable(null, { method: 'PUT', url: '/files/a' }, key)).toBe(true);
    expect(repeatable({ query: 'mutation { b }' }, {}, key)).toBe(true);
    expect(repeatable({ query: '{ a }' }, { url: '/mcp' })).toBe(false);
    expect(repeatable({ query: '{ a }' }, {}, { 'content-type': 'multipart/form-data' })).toBe(
      false,
    );
  });
});
