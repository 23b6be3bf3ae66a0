import { expect, it } from 'vitest';
import { model } from './model.ts';
import type { Habits } from './model-upstream.ts';

/** `npm run soak` makes 10,000 of them. */
const operations = Number(process.env['MODEL_OPERATIONS'] ?? 180);
const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 1_000_000);

/** Pages cut short, of which a row can be missed; `MODEL_STRICT=1` has the test insist on every row. */
const complete = process.env['MODEL_STRICT'] === '1';
const elsewhere = complete ? 'rows' : 'names';

const installations: readonly Habits[] = [
  { clamp: 100, newestFirst: false, tells: true, elsewhere: 'rows', complete: true },
  { clamp: 7, newestFirst: true, tells: true, elsewhere, complete },
  { clamp: 10, newestFirst: false, tells: false, elsewhere: 'names', complete },
];

it.each(installations)(
  'no answer shows what the upstream was not, in an installation of %j',
  async (habits) => {
    const share = Math.ceil(operations / installations.length);
    const { outcomes, requests, wrong, operations: made } = await model(share, seed, habits);
    console.info(
      `model, MODEL_SEED=${seed}: ${made} operations, ${requests} upstream calls, ${JSON.stringify(outcomes)}`,
    );
    expect(wrong).toEqual([]);
    expect(outcomes['right'] ?? 0).toBeGreaterThan(made / 2);
  },
  operations * 1000,
);
