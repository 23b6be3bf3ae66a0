import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatLocalTimestamp, parseTimestamp } from '../../../src/upstream/decode/timestamp.ts';

const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Pacific/Apia'];

/** Whether a clock change makes the hour of this moment run a second time before or after it. */
function isRepeated(seconds: number, zone: string): boolean {
  const shown = formatLocalTimestamp(seconds * 1000, zone);
  return [1800, 3600, 7200].some(
    (shift) => formatLocalTimestamp((seconds - shift) * 1000, zone) === shown,
  );
}

describe('formatLocalTimestamp', () => {
  it.each([
    ['2026-03-29T00:59:59Z', 'Europe/Berlin', '2026-03-29 01:59:59'],
    ['2026-03-29T01:00:00Z', 'Europe/Berlin', '2026-03-29 03:00:00'],
    ['2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25 02:30:00'],
    ['2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25 02:30:00'],
    ['2026-12-31T23:30:00Z', 'Asia/Kathmandu', '2027-01-01 05:15:00'],
    ['2026-01-01T00:30:00Z', 'America/St_Johns', '2025-12-31 21:00:00'],
    ['2026-01-31T09:30:00Z', 'UTC', '2026-01-31 09:30:00'],
  ])('shows %s in %s as %s', (moment, zone, shown) => {
    expect(formatLocalTimestamp(Date.parse(moment), zone)).toBe(shown);
  });

  it('keeps "never" inside the calendar, however far east', () => {
    const never = Date.parse('9999-12-31T23:59:59Z');
    expect(formatLocalTimestamp(never, 'Pacific/Apia')).toBe('9999-12-31 23:59:59');
  });

  it('is undone by parseTimestamp at every moment that the spelling can distinguish', () => {
    const any = fc.integer({ min: Date.UTC(1990, 0) / 1000, max: Date.UTC(2060, 0) / 1000 });
    const changes = ['2026-03-29T01:00Z', '2026-10-25T01:00Z', '2011-12-30T10:00Z'].map(
      (text) => Date.parse(text) / 1000,
    );
    const nearChange = fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -90_000, max: 90_000 }))
      .map(([change, seconds]) => change + seconds);
    const moment = fc.oneof(any, nearChange);
    fc.assert(
      fc.property(moment, fc.constantFrom(...zones), (seconds, zone) => {
        fc.pre(!isRepeated(seconds, zone));
        const shown = formatLocalTimestamp(seconds * 1000, zone);
        expect(shown).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
        expect(parseTimestamp(shown, zone)).toBe(seconds * 1000);
      }),
      { numRuns: 2000 },
    );
  });
});
