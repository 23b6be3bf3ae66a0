import { expect } from 'vitest';
import type { Door, Reply } from '../../support/door.ts';

/**
 * What a refusal says: it costs no upstream call, and is nothing that the operator has to be told of as
 * a defect.
 */
export async function quietly(
  door: Door,
  reply: Promise<Reply>,
): Promise<{ readonly answer: [number, string | undefined]; readonly message: string }> {
  const calls = door.calls();
  const { status, code, errors } = await reply;
  expect(door.calls()).toBe(calls);
  expect(door.log()).not.toMatch(/"level":"error"|RangeError/);
  return { answer: [status, code], message: errors[0]?.message ?? '' };
}
