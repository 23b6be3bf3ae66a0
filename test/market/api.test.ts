import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMarketApi, type MarketPostEncoding } from '../../src/market/api.ts';
import type { Verdict } from '../../src/upstream/request.ts';

const api = createMarketApi('json');

function judge(status: number, body: unknown): Verdict {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return api.judge({ status, headers: {}, text }, { method: 'GET', wallMs: 0 });
}

describe('authorize', () => {
  function authorize(encoding: MarketPostEncoding, body: Record<string, unknown> | undefined) {
    const request = { headers: {}, query: new URLSearchParams({ item_id: '7' }), body };
    createMarketApi(encoding).authorize(request, 'secret');
    return { ...request, query: Object.fromEntries(request.query) };
  }

  test.each<MarketPostEncoding>(['json', 'form', 'query'])(
    'puts the key of a GET into the query, also when a POST is sent as %s',
    (encoding) => {
      expect(authorize(encoding, undefined)).toEqual({
        headers: {},
        query: { item_id: '7', api_key: 'secret' },
        body: undefined,
      });
    },
  );

  test.each<MarketPostEncoding>(['json', 'form'])(
    'puts the key of a POST sent as %s into its body only',
    (encoding) => {
      const call = { purchase_code: 'c' };
      expect(authorize(encoding, call)).toEqual({
        headers: {},
        query: { item_id: '7' },
        body: { purchase_code: 'c', api_key: 'secret' },
      });
      expect(call).toEqual({ purchase_code: 'c' });
    },
  );

  test('moves all parameters of a POST sent as query into the query', () => {
    expect(authorize('query', { purchase_code: 'c' })).toEqual({
      headers: {},
      query: { item_id: '7', purchase_code: 'c', api_key: 'secret' },
      body: undefined,
    });
  });

  test('says how a body is written', () => {
    expect(createMarketApi('form').bodyEncoding).toBe('form');
    expect(createMarketApi('json').bodyEncoding).toBe('json');
  });
});

describe('judge', () => {
  test.each([
    [{ status: 'success', data: { email: 'a' } }],
    [{ status: 'Erfolg', items: [] }],
    [{ status: 'error', msg: 'Fertig', items: [] }],
    [{ status: 'error', item: { id: 1 } }],
    [{ purchase: { purchase_code: 'c' }, msg: 'OK' }],
    [{ status: 'success', items: null }],
  ])('reads %j as success with status 200, whatever `status` says', (body) => {
    expect(judge(200, body)).toEqual({ kind: 'success', body });
  });

  test.each([400, 500, 302])('reads a payload with status %i as no success', (status) => {
    expect(judge(status, { status: 'success', item: { id: 1 } }).kind).not.toBe('success');
  });

  test('reads a success without a payload as invalid', () => {
    expect(judge(200, { status: 'success' }).kind).toBe('invalid');
  });

  test('reads a message beside an empty payload as a failure', () => {
    expect(judge(200, { status: 'error', msg: 'Nein', data: [] }).kind).toBe('rejected');
    expect(judge(200, { status: 'error', msg: 'Nein', data: null }).kind).toBe('rejected');
  });

  test.each([200, 400, 404])('reads "No items found" with status %i as an empty list', (status) => {
    expect(judge(status, { status: 'error', msg: 'No items found' })).toEqual({
      kind: 'success',
      body: { items: [] },
    });
  });

  test('reads 404 with `msg` as absent, in any language', () => {
    expect(judge(404, { status: 'error', msg: 'Nicht da' })).toEqual({
      kind: 'absent',
      reason: 'Nicht da',
    });
  });

  test('reads 404 without `msg` as a fault', () => {
    expect(judge(404, { message: 'The route could not be found.' }).kind).toBe('unserved');
    expect(judge(404, '<html>').kind).toBe('unserved');
    expect(judge(404, '').kind).toBe('unserved');
  });

  test.each([
    [200, 'Item Not Found', 'absent'],
    [400, 'Invalid purchase code', 'absent'],
    [200, 'Invalid request', 'rejected'],
    [200, 'Invalid API key', 'unauthenticated'],
    [401, 'Nein', 'unauthenticated'],
    [403, 'Nein', 'forbidden'],
    [500, 'Nein', 'unavailable'],
  ])('reads status %i with the message %j as %s', (status, msg, kind) => {
    expect(judge(status, { status: 'error', msg }).kind).toBe(kind);
  });

  test('reads HTTP 429 as the rate limit, whatever the body', () => {
    expect(judge(429, { msg: 'Too fast', retry_after: 2 })).toEqual({
      kind: 'limited',
      retryAfterMs: 2000,
    });
    expect(judge(429, '<html>')).toEqual({ kind: 'limited', retryAfterMs: null });
  });

  test.each([
    [200, 'invalid'],
    [503, 'unavailable'],
  ])('reads HTML with status %i as %s', (status, kind) => {
    expect(judge(status, '<html>').kind).toBe(kind);
  });

  test('judges any answer without throwing', () => {
    const body = fc.oneof(
      fc.json(),
      fc
        .record({ msg: fc.jsonValue(), data: fc.jsonValue(), item: fc.jsonValue() })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), body, (status, text) => {
        expect(judge(status, text).kind).toBeTypeOf('string');
      }),
    );
  });
});
