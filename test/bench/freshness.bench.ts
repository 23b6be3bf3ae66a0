import { it } from 'vitest';
import { measureFreshness } from './freshness.ts';
import { type Curve, type Figure, record } from './report/measurement.ts';

/** Entries that are wanted, and what the oldest answer may be at most, in units of the ideal. */
const sizes: readonly { readonly entries: number; readonly atMost?: number }[] = [
  // As many as a minute has calls: here the ttl, and not the limit, says how old is too old.
  { entries: 30 },
  { entries: 100, atMost: 1.25 },
  { entries: 300, atMost: 1.25 },
];

it('freshness', async () => {
  const figures: Figure[] = [];
  const curves: Curve[] = [];
  for (const { entries, atMost } of sizes) {
    const { reads, failed, meanOverIdeal, maxOverIdeal, busiestMinute, oldest } =
      await measureFreshness(entries);
    const label = `${entries} entries`;
    figures.push(
      {
        label: `${label}: age of the oldest answer over N/B`,
        value: maxOverIdeal,
        digits: 2,
        ...(atMost ? { target: { atMost } } : {}),
        note: `mean ${meanOverIdeal.toFixed(2)}`,
      },
      {
        label: `${label}: reads not served`,
        value: failed,
        target: { atMost: 0 },
        note: `of ${reads}`,
      },
      {
        label: `${label}: calls in the busiest minute`,
        value: busiestMinute,
        target: { atMost: 30 },
      },
    );
    curves.push({ label: `N = ${entries}`, points: oldest });
  }
  record({
    bench: 'freshness',
    about:
      'Age of what readers get when N entries are wanted and B = 30 calls a minute are allowed: Zipf traffic, 10 reads a second, each entry a call of its own, in virtual time.',
    figures,
    curves,
  });
});
