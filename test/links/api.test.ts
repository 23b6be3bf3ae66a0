import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linksApi } from '../../src/links/api.ts';
import type { Verdict } from '../../src/upstream/request.ts';

const wallMs = Date.parse('2026-01-31T09:30:00Z');

function judge(status: number, body: unknown, headers: Record<string, string> = {}): Verdict {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return linksApi.judge({ status, headers, text }, { method: 'GET', wallMs });
}

const data = { id: 1 };
const statuses = [200, 201, 302, 400, 401, 403, 404, 422, 500, 503];

test('sends the key as a bearer token and nowhere else', () => {
  const request = { headers: {}, query: new URLSearchParams(), body: { name: 'x' } };
  linksApi.authorize(request, 'secret');
  expect(request.headers).toEqual({ authorization: 'Bearer secret' });
  expect(request.query.size).toBe(0);
  expect(request.body).toEqual({ name: 'x' });
});

describe('the `error` member', () => {
  test.each([[0], ['0'], [false], ['false']])(
    'reads `error` %j as success with any HTTP status',
    (error) => {
      for (const status of statuses) {
        expect(judge(status, { error, data })).toEqual({ kind: 'success', body: { error, data } });
      }
    },
  );

  test.each([[1], ['1'], [true], ['yes'], [{ code: 7 }]])(
    'reads `error` %j as failure with any HTTP status, whatever success the text claims',
    (error) => {
      for (const status of statuses) {
        const verdict = judge(status, { error, message: 'Success!', data });
        expect(verdict.kind).not.toBe('success');
      }
      expect(judge(200, { error, message: 'Taken' })).toEqual({
        kind: 'rejected',
        reason: 'Taken',
      });
    },
  );

  test.each([[429], ['429']])(
    'reads `error` %j as the rate limit with any HTTP status',
    (error) => {
      for (const status of statuses) {
        expect(judge(status, { error, retry_after: 3 })).toEqual({
          kind: 'limited',
          retryAfterMs: 3000,
        });
      }
    },
  );

  test.each([['{"error":0}'], ['<html>'], [''], ['{']])(
    'reads HTTP 429 as the rate limit, even with the body %j',
    (text) => {
      expect(judge(429, text)).toEqual({ kind: 'limited', retryAfterMs: null });
      expect(judge(429, text, { 'retry-after': '2' })).toMatchObject({ retryAfterMs: 2000 });
    },
  );

  test('takes an HTTP status inside `error` for the status of the failure', () => {
    expect(judge(200, { error: 404, message: 'x' })).toMatchObject({ kind: 'absent' });
    expect(judge(200, { error: '403', message: 'x' })).toEqual({ kind: 'forbidden' });
  });

  test('finds it inside `data` when it is nowhere else', () => {
    expect(judge(500, { data: { error: '0', campaigns: [] } }).kind).toBe('success');
    expect(judge(200, { data: { error: '1' }, message: 'No' }).kind).toBe('rejected');
  });

  test('reads an answer without it by its status', () => {
    expect(judge(200, { data })).toEqual({ kind: 'success', body: { data } });
    expect(judge(404, { message: 'Not found' }).kind).toBe('unserved');
    expect(judge(401, { message: 'Unauthenticated.' }).kind).toBe('unauthenticated');
    expect(judge(403, {}).kind).toBe('forbidden');
    expect(judge(502, {}).kind).toBe('unavailable');
  });
});

describe('no JSON object', () => {
  const html = '<!DOCTYPE html><title>Maintenance of secret.example</title>';

  test.each([
    [200, 'invalid'],
    [302, 'invalid'],
    [404, 'unserved'],
    [405, 'unserved'],
    [500, 'unavailable'],
    [503, 'unavailable'],
  ])('reads HTML with status %i as %s, and repeats nothing of it', (status, kind) => {
    const verdict = judge(status, html);
    expect(verdict.kind).toBe(kind);
    expect(JSON.stringify(verdict)).not.toContain('secret.example');
  });

  test.each([
    [200, 'invalid'],
    [204, 'invalid'],
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [500, 'unavailable'],
  ])('reads an empty body with status %i as %s, never as success', (status, kind) => {
    expect(judge(status, ' \n').kind).toBe(kind);
  });

  test.each([['[]'], ['"ok"'], ['null'], ['1'], ['{"error":0'], ['OK']])(
    'reads the body %s with status 200 as invalid',
    (text) => {
      expect(judge(200, text).kind).toBe('invalid');
    },
  );

  test('reads JSON behind a byte order mark', () => {
    expect(judge(200, '\uFEFF{"error":0}').kind).toBe('success');
  });
});

describe('failures', () => {
  test.each([
    [401, 'anything', 'unauthenticated'],
    [403, 'anything', 'forbidden'],
    [404, 'anything', 'absent'],
    [500, 'anything', 'unavailable'],
    [400, 'anything', 'rejected'],
    [200, 'A valid API key is required to use this service.', 'unauthenticated'],
    [403, 'Your api_key has expired', 'unauthenticated'],
    [200, 'You do not have permission to do this.', 'forbidden'],
    [200, 'This endpoint is for admins only', 'forbidden'],
    [200, 'Admin only', 'forbidden'],
    [200, 'You must be an administrator', 'forbidden'],
    [200, 'The username admin is already taken.', 'rejected'],
    [200, 'This domain is not allowed.', 'rejected'],
    [200, 'QR code not found.', 'absent'],
    [200, 'The user does not exist', 'absent'],
    [200, 'Campaign doesn&#039;t exist', 'absent'],
    [500, 'No such channel', 'absent'],
  ])('reads status %i with the message %j as %s', (status, message, kind) => {
    expect(judge(status, { error: 1, message }).kind).toBe(kind);
  });

  const reason = (message: unknown) => {
    const verdict = judge(400, { error: 1, message });
    return verdict.kind === 'rejected' ? verdict.reason : verdict.kind;
  };

  test.each([
    ['Tom &amp;amp; Jerry', 'Tom &amp; Jerry'],
    ['<b>Taken</b>:<br>try &lt;this&gt;', 'Taken: try <this>'],
    ['<script>alert(1)</script> No\n\u0000 way', 'No way'],
    ['2 < 3 > 1', '2 < 3 > 1'],
    [{ email: ['Email is taken'], name: 'Name is short' }, 'Email is taken; Name is short'],
    [[], 'The API gave no reason.'],
    [undefined, 'The API gave no reason.'],
    ['', 'The API gave no reason.'],
  ])('shows the message %j as the plain text %j', (message, expected) => {
    expect(reason(message)).toBe(expected);
  });

  test('cuts a long message, and no character in half', () => {
    for (const length of [297, 298, 299, 300, 301]) {
      const text = reason(`${'x'.repeat(length)}🧭🧭🧭`);
      expect(text.length).toBeLessThanOrEqual(300);
      expect(Buffer.from(text).toString()).toBe(text);
    }
    expect(reason('x'.repeat(100_000))).toHaveLength(300);
  });

  test('finds the message under other names', () => {
    expect(judge(200, { error: 1, msg: 'Taken' })).toMatchObject({ reason: 'Taken' });
    expect(judge(200, { error: 'Taken' })).toMatchObject({ reason: 'Taken' });
    expect(judge(200, { error: { message: 'Taken' } })).toMatchObject({ reason: 'Taken' });
  });

  test('keeps the reason of an absence for a write that met it', () => {
    expect(judge(404, { error: 1, message: 'Channel not found.' })).toEqual({
      kind: 'absent',
      reason: 'Channel not found.',
    });
  });
});

test('judges any answer without throwing', () => {
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({ error: fc.jsonValue(), message: fc.jsonValue(), data: fc.jsonValue() })
      .map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), body, (status, text) => {
      expect(judge(status, text).kind).toBeTypeOf('string');
    }),
  );
});
