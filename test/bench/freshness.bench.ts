import { it } from 'vitest';
import { measureFreshness } from './freshness.ts';
import { measureFreshnessAtRate } from './freshness-rates.ts';
import { type Figure, record } from './report/measurement.ts';

/** Entries that are wanted, and what the oldest answer may be at most, in units of the ideal. */
const sizes: readonly { readonly entries: number; readonly atMost?: number }[] = [
  // As many as a minute has calls: here the ttl, and not the limit, says how old is too old.
  { entries: 30 },
  { entries: 100, atMost: 1.25 },
  { entries: 300, atMost: 1.25 },
];

/** Entries, reads a second, and the skew of what is read: with 1.5 the last of 60 is read once a minute. */
const rates: readonly (readonly [skew: number, readsASecond: number])[] = [
  [1, 20],
  [1, 60],
  [1.5, 20],
  [1.5, 60],
];
const sizesAtRates = [45, 60, 90, 150, 300];

it('freshness', async () => {
  const figures: Figure[] = [];
  const all = { reads: 0, failed: 0, busiestMinute: 0 };
  for (const { entries, atMost } of sizes) {
    const found = await measureFreshness(entries);
    figures.push({
      label: `N = ${entries}: oldest data over N/B`,
      value: found.maxOverIdeal,
      digits: 2,
      ...(atMost ? { target: { atMost } } : {}),
      note: `mean ${found.meanOverIdeal.toFixed(2)}${atMost ? '' : '; no target, N/B is the ttl itself'}`,
    });
    all.reads += found.reads;
    all.failed += found.failed;
    all.busiestMinute = Math.max(all.busiestMinute, found.busiestMinute);
  }
  for (const [skew, readsASecond] of rates) {
    for (const entries of sizesAtRates) {
      const found = await measureFreshnessAtRate(entries, readsASecond, { skew });
      figures.push({
        label: `N = ${entries}, ${readsASecond} reads per second, Zipf ${skew}: oldest data over N/B`,
        value: found.maxOverIdeal,
        digits: 2,
        target: { atMost: 1.25 },
        note: `at the client; ${found.afterwards} calls after the last reader`,
      });
      all.reads += found.reads;
      all.failed += found.failed;
      all.busiestMinute = Math.max(all.busiestMinute, found.busiestMinute);
    }
  }
  figures.push(
    {
      label: 'reads not served',
      value: all.failed,
      target: { atMost: 0 },
      note: `of ${all.reads}`,
    },
    {
      label: 'upstream calls in the busiest minute',
      value: all.busiestMinute,
      target: { atMost: 30 },
    },
  );
  record({
    bench: 'freshness',
    about:
      'Age of the data that readers receive if N entries are in use and B = 30 calls per minute are allowed: Zipf traffic, 10 reads per second unless stated otherwise, one call per entry, in virtual time.',
    figures,
  });
});
