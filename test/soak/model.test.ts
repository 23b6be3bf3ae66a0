import { expect, it } from 'vitest';
import { model } from './model.ts';

/** `npm run soak` makes 10,000 of them. */
const operations = Number(process.env['MODEL_OPERATIONS'] ?? 600);
const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 1_000_000);

const installations = [
  { clamp: 100, newestFirst: false, tells: true },
  { clamp: 7, newestFirst: true, tells: true },
  { clamp: 10, newestFirst: false, tells: false },
];

it.each(installations)(
  'no answer shows what the upstream was not, in an installation of %j',
  async (habits) => {
    const share = Math.ceil(operations / installations.length);
    const { outcomes, requests, wrong, operations: made } = await model(share, seed, habits);
    process.stdout.write(
      `model, MODEL_SEED=${seed}: ${made} operations, ${requests} upstream calls, ${JSON.stringify(outcomes)}\n`,
    );
    expect(wrong).toEqual([]);
    expect(outcomes['right'] ?? 0).toBeGreaterThan(made / 2);
  },
  operations * 1000,
);
