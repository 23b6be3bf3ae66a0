import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DayUsage, OTHERS_TOGETHER, type UsageRow } from '../../src/usage/day-usage.ts';
import { rowIn, textOfRow } from '../../src/usage/usage.ts';
import { UsageSums, usageCsv } from '../../src/usage/usage-report.ts';

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
  it('keeps the sums by class and resource exact in rows of bounded size', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 2500, maxLength: 6000 }), (rows) => {
        const usage = new DayUsage(0, 0);
        const saved = new Map<number, UsageRow>();
        for (const each of rows) {
          usage.add(each);
          for (const row of usage.changes()) saved.set(row.id, row);
        }
        const kept = [...saved.values()].filter(({ calls, saved }) => calls + saved > 0);
        // Twelve rows of others at most: for two APIs, two classes and three resources.
        expect(kept.map(textOfRow).join('').length).toBeLessThanOrEqual(160_000 + 12 * 100);
        expect(sumsOf(kept)).toEqual(sumsOf(rows));
        expect(sumsOf(usage.rows)).toEqual(sumsOf(rows));
      }),
      { numRuns: 5 },
    );
  });

  it('keeps the callers with the most requests apart', () => {
    const usage = new DayUsage(0, 0);
    for (let n = 0; n < 50; n += 1) usage.add(row({ caller: 'greedy' }));
    for (let n = 0; n < 10_000; n += 1) usage.add(row({ caller: `caller ${n}` }));
    expect(usage.rows.find(({ caller }) => caller === 'greedy')?.calls).toBe(50);
    expect(usage.rows.find(({ caller }) => caller === OTHERS_TOGETHER)?.calls).toBeGreaterThan(
      7999,
    );
  });

  it('lets no caller displace others by inventing names of operations', () => {
    const usage = new DayUsage(0, 0);
    usage.add(row({ caller: 'honest', calls: 0, saved: 1 }));
    for (let n = 0; n < 20_000; n += 1) {
      usage.add(row({ caller: 'attacker', operation: `Invented${n}` }));
    }
    const of = (name: string) => usage.rows.filter(({ caller }) => caller === name);
    expect(of('honest')).toMatchObject([row({ caller: 'honest', calls: 0, saved: 1 })]);
    expect(of('attacker').length).toBeLessThanOrEqual(101);
    expect(of('attacker').reduce((sum, { calls }) => sum + calls, 0)).toBe(20_000);
  });

  it('is as before when a request was not sent after all, also if its row was added to others', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 2500, maxLength: 6000 }), (rows) => {
        const usage = new DayUsage(0, 0);
        const unsent = usage.add(row({ caller: 'unsent' }));
        const others = rows.map((each) => ({ ...each, calls: each.calls + 1 }));
        for (const each of others) usage.add(each);
        expect(usage.rows.some(({ caller }) => caller === 'unsent')).toBe(false);
        usage.takeBack(unsent);
        expect(sumsOf(usage.rows)).toEqual(sumsOf(others));
      }),
      { numRuns: 2 },
    );
    const usage = new DayUsage(0, 0);
    usage.takeBack(usage.add(row()));
    expect(usage.rows).toEqual([]);
    expect([...usage.changes()]).toMatchObject([{ calls: 0, saved: 0 }]);
  });

  it('reads the values that it writes, and nothing else', () => {
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
