import { describe, expect, test } from 'vitest';
import { DryRun } from '../../src/upstream/dry-run/dry-run.ts';

describe('DryRun', () => {
  test('costs nothing before anything is asked', () => {
    expect(new DryRun().plan).toEqual({
      calls: 0,
      callsByUpstream: { LINKS: 0, MARKET: 0 },
      saved: { cache: 0, coalesced: 0 },
      exact: true,
      fits: true,
    });
  });

  test('counts an answer once, however often it is needed', () => {
    const dryRun = new DryRun();
    for (let n = 0; n < 3; n += 1) {
      dryRun.calls('LINKS', { key: 'a' });
      dryRun.calls('MARKET', { key: 'b' });
      dryRun.calls('LINKS', { key: 'c' });
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
    dryRun.calls('LINKS', { key: 'a' });
    expect(dryRun.plan.exact).toBe(true);
    dryRun.guesses();
    dryRun.calls('LINKS', { key: 'b' });
    expect(dryRun.plan).toMatchObject({ calls: 2, exact: false });
  });

  test('counts a read for each row that a made-up one stands for', () => {
    const dryRun = new DryRun();
    const ten = dryRun.standIns.idFor('the list', 10);
    dryRun.calls('LINKS', { key: `/row/${ten}`, about: ten });
    expect(dryRun.plan.calls).toBe(10);
    // The first ten are among the first twenty.
    const twenty = dryRun.standIns.idFor('the list', 20);
    dryRun.calls('LINKS', { key: `/row/${twenty}`, about: twenty });
    expect(dryRun.plan.calls).toBe(20);
    dryRun.calls('LINKS', { key: `/row/${ten}`, about: ten });
    expect(dryRun.plan.calls).toBe(20);
    expect(dryRun.counts({ key: `/row/${ten}`, about: ten })).toBe(true);
    const others = dryRun.standIns.idFor('another list', 3);
    dryRun.calls('MARKET', { key: `/row/${others}`, about: others });
    expect(dryRun.plan.callsByUpstream).toEqual({ LINKS: 20, MARKET: 3 });
  });

  test('fits as long as no more is counted than an operation may spend', () => {
    const dryRun = new DryRun();
    dryRun.calls('LINKS', { key: 'a' });
    dryRun.checkLimit('LINKS', 1);
    expect(dryRun.plan).toMatchObject({ fits: true, exact: true });
    dryRun.calls('LINKS', { key: 'b' });
    dryRun.checkLimit('LINKS', 1);
    expect(dryRun.plan).toMatchObject({ fits: false, exact: false });
  });
});
