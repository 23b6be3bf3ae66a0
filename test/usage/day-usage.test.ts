import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DayUsage, MOST_ROWS } from '../../src/usage/day-usage.ts';
import { UsageSums, usageCsv } from '../../src/usage/usage-report.ts';
import { OTHERS_TOGETHER, rowIn, textOfRow, type UsageRow } from '../../src/usage/usage-row.ts';

const row = (more: Partial<UsageRow> = {}): UsageRow => ({
  upstream: 'LINKS',
  resource: 'channels',
  callerClass: 'default',
  caller: 'web',
  operation: 'Home',
  calls: 1,
  saved: 0,
  ...more,
});

const anyRow: fc.Arbitrary<UsageRow> = fc.record({
  upstream: fc.constantFrom('LINKS', 'MARKET'),
  resource: fc.constantFrom('channels', 'qrCodes', 'items'),
  callerClass: fc.constantFrom('default', 'agent'),
  caller: fc.nat(5000).map((n) => `caller ${n}`),
  operation: fc.nat(200).map((n) => `Operation${n}`),
  calls: fc.nat(3),
  saved: fc.nat(1000),
});

/** Sums by what is always exact. */
function sumsOf(rows: readonly UsageRow[]): object {
  const sums = new UsageSums(['upstream', 'resource', 'callerClass'], 100);
  for (const each of rows) sums.add(0, each);
  return sums.report;
}

describe('The usage of a day', () => {
  it('keeps the sums by class and resource exact in a bounded number of rows', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 2500, maxLength: 6000 }), (rows) => {
        const usage = new DayUsage(0);
        for (const each of rows) usage.add(each);
        // Twelve rows of others at most: for two APIs, two classes and three resources.
        expect(usage.rows.length).toBeLessThanOrEqual(MOST_ROWS + 12);
        expect(sumsOf(usage.rows)).toEqual(sumsOf(rows));
      }),
      { numRuns: 20 },
    );
  });

  it('keeps the callers with the most requests apart', () => {
    const usage = new DayUsage(0);
    for (let n = 0; n < 50; n += 1) usage.add(row({ caller: 'greedy' }));
    for (let n = 0; n < 10_000; n += 1) usage.add(row({ caller: `caller ${n}` }));
    expect(usage.rows.find(({ caller }) => caller === 'greedy')?.calls).toBe(50);
    expect(usage.rows.find(({ caller }) => caller === OTHERS_TOGETHER)?.calls).toBeGreaterThan(
      7999,
    );
  });

  it('lets no caller displace others by inventing names of operations', () => {
    const usage = new DayUsage(0);
    usage.add(row({ caller: 'honest', calls: 0, saved: 1 }));
    for (let n = 0; n < 20_000; n += 1) {
      usage.add(row({ caller: 'attacker', operation: `Invented${n}` }));
    }
    const of = (name: string) => usage.rows.filter(({ caller }) => caller === name);
    expect(of('honest')).toEqual([row({ caller: 'honest', calls: 0, saved: 1 })]);
    expect(of('attacker').length).toBeLessThanOrEqual(101);
    expect(of('attacker').reduce((sum, { calls }) => sum + calls, 0)).toBe(20_000);
  });

  it('reads the lines that it writes, and nothing else', () => {
    fc.assert(
      fc.property(anyRow, fc.string(), (each, text) => {
        expect(rowIn(textOfRow(each))).toEqual(each);
        expect(rowIn(text)).toBeNull();
      }),
    );
    expect(rowIn('["LINKS","a","b","c","d",-1,0]')).toBeNull();
    expect(rowIn('["LINKS","a","b","c","d",1e400,0]')).toBeNull();
  });

  it('is written as CSV that no spreadsheet executes', () => {
    const sums = new UsageSums(['caller', 'resource'], 10);
    sums.add(0, row({ caller: '=HYPERLINK("http://evil")' }));
    sums.add(0, row({ caller: 'a,b "c"' }));
    const { groups } = sums.report;
    expect(usageCsv(['caller', 'resource'], groups)).toBe(
      [
        'resource,caller,calls,saved',
        'channels,"\'=HYPERLINK(""http://evil"")",1,0',
        'channels,"a,b ""c""",1,0',
        '',
      ].join('\r\n'),
    );
  });
});
