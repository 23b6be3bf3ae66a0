import { describe, expect, test } from 'vitest';
import { createDigest } from '../../../src/digest.ts';
import { cacheKey, scopeOfKey } from '../../../src/upstream/cache/key.ts';
import { Interest } from '../../../src/upstream/cache/refresher.ts';
import type { Read } from '../../../src/upstream/request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const digest = createDigest('salt');
const credential = { partition: 'p', secret: 'secret' };

function readOf(query: Record<string, string>): Read<unknown> {
  return {
    method: 'GET',
    path: '/api/files',
    query,
    resource: 'files',
    tags: ['files'],
    decode: (body) => body,
  };
}
const keyOf = (query: Record<string, string>) => cacheKey('LINKS:p', readOf(query), digest);

describe('A cache key', () => {
  test('is the same for the same parameters in any order, and no other', () => {
    for (const long of ['', 'x'.repeat(5000)]) {
      expect(keyOf({ name: `a${long}`, page: '1' })).toBe(keyOf({ page: '1', name: `a${long}` }));
      expect(keyOf({ name: `a${long}` })).not.toBe(keyOf({ name: `b${long}` }));
      expect(scopeOfKey(keyOf({ name: long }))).toBe('LINKS:p');
    }
  });

  test('is short, however long what was asked is', () => {
    expect(keyOf({ name: 'ü'.repeat(1_000_000) }).length).toBeLessThan(200);
  });
});

describe('Interest', () => {
  test('remembers no read that holds much, and few that hold some', () => {
    const interest = new Interest(new VirtualClock());
    const ask = (name: string) =>
      interest.asked({ key: name.slice(0, 20), read: readOf({ name }), credential });
    ask('x'.repeat(1_000_000));
    expect(interest.wanted(1, credential)).toEqual([]);
    for (let n = 0; n < 6000; n += 1) ask(`${n} ${'x'.repeat(4000)}`);
    expect(interest.wanted(1, credential).length).toBeLessThanOrEqual(1000);
  });
});
