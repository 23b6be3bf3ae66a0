import { beforeAll, describe, expect, it } from 'vitest';
import { type Soaked, soak } from './soak.ts';

/** Of a clock that waits for a busy machine. `npm run soak` takes five minutes of it. */
const seconds = Number(process.env['SOAK_SECONDS'] ?? 1);
const seed = Number(process.env['SOAK_SEED'] ?? Date.now() % 1_000_000);

/** More than this is a leak. In its first seconds, a process itself grows by 4 to 5 from third to third. */
const TOLERATED_MIB = seconds < 30 ? 8 : 4;

let soaked: Soaked;
beforeAll(
  async () => {
    soaked = await soak(seconds, seed);
    const { heapMib, operations, outcomes, upstreamCalls } = soaked;
    console.info(
      `soak of ${seconds} s, SOAK_SEED=${seed}: ${operations} operations, ${upstreamCalls} upstream calls, ${JSON.stringify(outcomes)}, heap in MiB ${heapMib.map((mib) => mib.toFixed(1)).join(' ')}`,
    );
  },
  120_000 + 20_000 * seconds,
);

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

describe('under mixed load and random faults', () => {
  it('every answer is right or says by a code why not', () => {
    expect(soaked.wrong).toEqual([]);
  });

  it('nothing is rejected unseen and nothing unexpected happens', () => {
    expect(soaked.defects).toEqual([]);
  });

  it('more answers are right than calls were made', () => {
    const { outcomes, upstreamCalls } = soaked;
    // Not a share of all that was asked: who is turned away at once asks again at once.
    expect(outcomes['right'] ?? 0).toBeGreaterThan(upstreamCalls);
    expect(upstreamCalls).toBeGreaterThan(seconds * 5);
    // A soak in which nothing failed would prove nothing.
    expect(Object.keys(outcomes).length).toBeGreaterThan(3);
  });

  it('memory stays flat', () => {
    const { heapMib } = soaked;
    const third = Math.floor(heapMib.length / 3);
    const middle = median(heapMib.slice(third, 2 * third));
    expect(median(heapMib.slice(2 * third)) - middle).toBeLessThan(TOLERATED_MIB);
  });
});
