import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { WriteAnswer } from '../../client/pending-writes.ts';
import { rounds } from '../support/rounds.ts';
import { CREATE, done, failed, keyOf, variables, WriteWorld } from './write-world.ts';

const world = new WriteWorld();
const press = (): Promise<WriteAnswer> => world.writes.send(CREATE, variables);

/** What becomes of a request. Only some reach the API. */
const misfortunes = fc.record({
  isApplied: fc.boolean(),
  end: fc.constantFrom('cut', 'unknown', 'in use', 'exhausted', 'tunnel', 'reload', 'twice'),
});

it('a decision makes one row, whatever happens on the way', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(misfortunes, { maxLength: 8 }), async (steps) => {
      const rows = new Set<string>();
      let answer = press();
      for (const { isApplied, end } of steps) {
        const asked = await world.asked();
        if (isApplied) rows.add(keyOf(asked));
        if (end === 'unknown') {
          asked.answer(200, failed('OUTCOME_UNKNOWN', { retryAfterMs: 5000 }));
        } else if (end === 'in use') {
          asked.answer(409, failed('IDEMPOTENCY_KEY_IN_USE', { retryAfterMs: 1000 }));
        } else if (end === 'exhausted') {
          asked.answer(503, failed('BUDGET_EXHAUSTED', { retryAfterMs: 2000 }));
        } else {
          asked.cut();
        }
        if (end === 'reload') {
          world.reload();
          answer = press();
        } else if (end === 'tunnel') {
          world.client.isOnline = false;
          await world.client.clock.settle();
          world.client.isOnline = true;
        } else {
          await world.waitOut();
        }
        if (end === 'twice') answer = press();
      }
      const last = await world.asked();
      rows.add(keyOf(last));
      last.answer(200, done);
      expect(await answer).toEqual(done);
      expect(rows.size).toBe(1);
      world.expectRest();
    }),
    { numRuns: rounds(30) },
  );
});
