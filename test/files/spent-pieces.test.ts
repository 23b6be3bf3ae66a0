import { constants, PerformanceObserver } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { SpentPieces } from '../../src/files/spent-pieces.ts';
import { until } from '../support/uploads.ts';

const MIB = 1024 * 1024;

/** What Node tells of a collection. */
interface Detail {
  readonly flags: number;
  readonly kind: number;
}

describe('pieces of uploads that have gone by', () => {
  it('are collected every 4 MiB, among young objects alone', async () => {
    const kinds: number[] = [];
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { flags, kind } = (entry as unknown as { readonly detail: Detail }).detail;
        if (flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) kinds.push(kind);
      }
    });
    observer.observe({ entryTypes: ['gc'] });
    const spent = new SpentPieces();
    for (let count = 0; count < 9; count += 1) spent.add(MIB);
    await until(() => kinds.length > 0);
    observer.disconnect();
    expect(kinds).toEqual(Array(2).fill(constants.NODE_PERFORMANCE_GC_MINOR));
  });

  it('leave no way to collect to others', () => {
    new SpentPieces().add(4 * MIB);
    expect(globalThis).not.toHaveProperty('gc');
  });
});
