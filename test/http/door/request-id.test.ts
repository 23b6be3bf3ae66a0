import { describe, expect, it } from 'vitest';
import { requestIdOf } from '../../../src/http/door/every-request.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('A request id of our own', () => {
  it('is a UUID that no other request has', () => {
    // More than what is counted from one start.
    const ids = new Set(Array.from({ length: 200_000 }, () => requestIdOf(undefined)));
    expect(ids.size).toBe(200_000);
    for (const id of ids) if (!UUID.test(id)) expect(id).toMatch(UUID);
    expect(new Set([...ids].map((id) => id.slice(0, -4))).size).toBeGreaterThan(2);
  });
});
