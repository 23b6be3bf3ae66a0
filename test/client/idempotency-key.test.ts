import { describe, expect, it, vi } from 'vitest';
import { idempotencyKey } from '../../client/idempotency-key.ts';

describe('an idempotency key', () => {
  it('is a UUIDv7 with the time at which it is made', () => {
    const before = Date.now();
    const key = idempotencyKey();
    const after = Date.now();
    expect(key).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    const madeAt = Number.parseInt(key.replace('-', '').slice(0, 12), 16);
    expect(madeAt).toBeGreaterThanOrEqual(before);
    expect(madeAt).toBeLessThanOrEqual(after);
  });

  it('is another each time', () => {
    const keys = Array.from({ length: 10_000 }, idempotencyKey);
    expect(new Set(keys).size).toBe(keys.length);
    // Every digit but those of the version and the time varies.
    const digits = keys.map((key) => key.replaceAll('-', '').slice(13));
    for (let at = 0; at < 19; at += 1) {
      expect(new Set(digits.map((each) => each[at])).size).toBe(at === 3 ? 4 : 16);
    }
  });

  it('is made on pages without HTTPS too, which have no randomUUID', () => {
    const getRandomValues = crypto.getRandomValues.bind(crypto);
    vi.stubGlobal('crypto', { getRandomValues });
    expect(idempotencyKey()).toHaveLength(36);
  });
});
