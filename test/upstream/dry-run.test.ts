import { describe, expect, test } from 'vitest';
import { DryRun } from '../../src/upstream/dry-run.ts';

describe('DryRun', () => {
  test('costs nothing before anything is asked', () => {
    expect(new DryRun().plan).toEqual({
      calls: 0,
      callsByUpstream: { LINKS: 0, MARKET: 0 },
      saved: { cache: 0, coalesced: 0 },
      exact: true,
    });
  });

  test('counts an answer once, however often it is needed', () => {
    const dryRun = new DryRun();
    for (let n = 0; n < 3; n += 1) {
      dryRun.calls('LINKS', 'a');
      dryRun.calls('MARKET', 'b');
      dryRun.calls('LINKS', 'c');
      dryRun.hit('d');
      dryRun.joins('e');
      dryRun.joins('f');
    }
    expect(dryRun.plan).toMatchObject({
      calls: 3,
      callsByUpstream: { LINKS: 2, MARKET: 1 },
      saved: { cache: 1, coalesced: 2 },
    });
  });

  test('counts what nobody shares each time', () => {
    const dryRun = new DryRun();
    dryRun.callsUnshared('LINKS');
    dryRun.callsUnshared('LINKS');
    dryRun.callsUnshared('MARKET');
    expect(dryRun.plan.callsByUpstream).toEqual({ LINKS: 2, MARKET: 1 });
  });

  test('is a guess from the first row on that is not known', () => {
    const dryRun = new DryRun();
    dryRun.calls('LINKS', 'a');
    expect(dryRun.plan.exact).toBe(true);
    dryRun.guesses();
    dryRun.calls('LINKS', 'b');
    expect(dryRun.plan).toMatchObject({ calls: 2, exact: false });
  });
});
