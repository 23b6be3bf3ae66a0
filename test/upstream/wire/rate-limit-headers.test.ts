import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRateLimit, readRetryAfter } from '../../../src/upstream/wire/rate-limit-headers.ts';

const wallMs = Date.parse('2026-01-31T09:30:00Z');
const context = { wallMs, timeZone: 'Europe/Berlin', windowMs: 60_000 };
const resetAt = wallMs + 45_000;

const reset = (text: string) =>
  readRateLimit({ 'x-ratelimit-reset': text }, context)?.resetAtMs ?? null;

describe('readRateLimit', () => {
  test('reads limit, remaining and reset', () => {
    expect(
      readRateLimit(
        { 'x-ratelimit-limit': '30', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '45' },
        context,
      ),
    ).toEqual({ limit: 30, remaining: 0, resetAtMs: resetAt });
  });

  test('is null without headers, and null member by member for unreadable ones', () => {
    expect(readRateLimit({}, context)).toBeNull();
    expect(readRateLimit({ 'x-ratelimit-limit': 'many' }, context)).toBeNull();
    expect(readRateLimit({ 'x-ratelimit-limit': '30', 'x-ratelimit-reset': '?' }, context)).toEqual(
      {
        limit: 30,
        remaining: null,
        resetAtMs: null,
      },
    );
  });

  test.each([
    ['epoch seconds', String(resetAt / 1000)],
    ['epoch milliseconds', String(resetAt)],
    ['seconds from now', '45'],
    ['an HTTP date', 'Sat, 31 Jan 2026 09:30:45 GMT'],
    ['an HTTP date of the oldest form', 'Sat Jan 31 09:30:45 2026'],
    ['a timestamp in the zone of the upstream', '2026-01-31 10:30:45'],
    ['an ISO timestamp', '2026-01-31T09:30:45Z'],
  ])('reads a reset given as %s', (_, text) => {
    expect(reset(text)).toBe(resetAt);
  });

  test('reads all formats of one moment alike', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(2001, 0) / 1000, max: Date.UTC(2090, 0) / 1000 }),
        fc.integer({ min: 0, max: 60 }),
        (now, delta) => {
          const at = (now + delta) * 1000;
          const date = new Date(at);
          const here = { wallMs: now * 1000, timeZone: 'UTC', windowMs: 60_000 };
          const forms = [
            String(at / 1000),
            String(at),
            String(delta),
            date.toUTCString(),
            date.toISOString(),
            date.toISOString().slice(0, 19).replace('T', ' '),
          ];
          for (const form of forms) {
            expect(readRateLimit({ 'x-ratelimit-reset': form }, here)?.resetAtMs).toBe(at);
          }
        },
      ),
    );
  });

  test('drops a reset that lies further away than any window could end', () => {
    expect(reset('2026-01-31 18:30:45')).toBeNull();
    expect(reset(String(resetAt / 1000 - 86_400))).toBeNull();
    expect(
      readRateLimit({ 'x-ratelimit-reset': '7200' }, { wallMs, timeZone: 'UTC' })?.resetAtMs,
    ).toBe(wallMs + 7_200_000);
  });

  test('takes the first of a repeated header and the count in front of a policy', () => {
    expect(readRateLimit({ 'x-ratelimit-limit': ['30', '60'] }, context)?.limit).toBe(30);
    expect(readRateLimit({ 'ratelimit-limit': '30, 30;w=60' }, context)?.limit).toBe(30);
  });

  test('never throws, and never reads anything but a moment', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const value = reset(text);
        expect(value === null || Number.isFinite(value)).toBe(true);
      }),
    );
  });
});

describe('readRetryAfter', () => {
  test.each([
    ['seconds', '7', 7000],
    ['a date', 'Sat, 31 Jan 2026 09:30:07 GMT', 7000],
    ['a date gone by', 'Sat, 31 Jan 2026 09:00:00 GMT', 0],
    ['nonsense', 'soon', null],
    ['a negative number', '-5', null],
  ])('reads a header that holds %s', (_, text, expected) => {
    expect(readRetryAfter({ 'retry-after': text }, null, { wallMs })).toBe(expected);
  });

  test.each([
    [{ retry_after: 7 }],
    [{ retryAfter: '7' }],
    [{ 'retry-after': 7 }],
    [{ error: 429, data: { retry_after: 7 } }],
    [{ 'Retry-After': 7 }],
    [{ RETRY_AFTER: '7' }],
    [{ RetryAfter: 7 }],
    [{ 'Retry After': 7 }],
    [{ message: 'x', data: { 'RETRY-AFTER': 7 } }],
    [{ error: { code: 429, Retry_After: 7 } }],
  ])('reads the body member of %j', (body) => {
    expect(readRetryAfter({}, body, { wallMs })).toBe(7000);
  });

  test('prefers the header, unless it is unreadable', () => {
    expect(readRetryAfter({ 'retry-after': '3' }, { retry_after: 7 }, { wallMs })).toBe(3000);
    expect(readRetryAfter({ 'retry-after': 'x' }, { retry_after: 7 }, { wallMs })).toBe(7000);
  });

  test('is null when nothing is said', () => {
    expect(readRetryAfter({}, 'text', { wallMs })).toBeNull();
    expect(readRetryAfter({}, { retry_after: {} }, { wallMs })).toBeNull();
  });
});
