import { describe, expect, it } from 'vitest';
import { measureFreshnessAtRate } from '../../bench/freshness-rates.ts';

describe('What is asked for seldom, when more is wanted than can be refreshed in time', () => {
  it.each([45, 60])('is no older than the rest, of %s entries', async (entries) => {
    const found = await measureFreshnessAtRate(entries, 20, { skew: 1.5 });
    expect(found.failed).toBe(0);
    expect(found.busiestMinute).toBeLessThanOrEqual(30);
    expect(found.maxOverIdeal).toBeLessThanOrEqual(1.25);
    // Two rounds at most, and then no more: no caller reads.
    expect(found.afterwards).toBeLessThanOrEqual(2 * entries);
  });
});
