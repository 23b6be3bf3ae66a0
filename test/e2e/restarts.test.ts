import { describe, expect, it } from 'vitest';
import { KEY, LIMIT, restart } from '../support/restarts.ts';

/** `RESTARTS=200` for the long form. */
const restarts = Number(process.env['RESTARTS'] ?? 3);

describe.concurrent('A process that is killed and started again', () => {
  it.each([
    ['says nothing of its limit', false],
    ['tells what is left in windows of its own', true],
  ])(
    'spends no more than the limit where the upstream %s',
    async (_, tells) => {
      const { most, left } = await restart(restarts, tells);
      expect(left).not.toContain(KEY);
      expect(left).toContain('slot/');
      expect(most).toBeLessThanOrEqual(LIMIT);
    },
    3_600_000,
  );
});
