import { describe, expect, test } from 'vitest';
import type { UpstreamName } from '../../src/errors.ts';
import { DryRun, type Wanted } from '../../src/upstream/dry-run/dry-run.ts';

/** A read of one field. */
function to(upstream: UpstreamName, field = 'field', resource = 'channels'): Wanted {
  return { upstream, resource, kind: 'read', fields: [field] };
}

describe('DryRun', () => {
  test('costs nothing before anything is asked', () => {
    expect(new DryRun().plan).toEqual({
      calls: 0,
      callsByUpstream: { LINKS: 0, MARKET: 0 },
      saved: { cache: 0, coalesced: 0 },
      exact: true,
      fits: true,
      startsInMs: 0,
      requests: [],
      more: 0,
    });
  });

  test('counts an answer once, however often it is needed', () => {
    const dryRun = new DryRun();
    for (let n = 0; n < 3; n += 1) {
      dryRun.calls({ key: 'a' }, to('LINKS'));
      dryRun.calls({ key: 'b' }, to('MARKET'));
      dryRun.calls({ key: 'c' }, to('LINKS'));
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

  test('counts what is not shared each time', () => {
    const dryRun = new DryRun();
    dryRun.callsUnshared(to('LINKS'));
    dryRun.callsUnshared(to('LINKS'));
    dryRun.callsUnshared(to('MARKET'));
    expect(dryRun.plan.callsByUpstream).toEqual({ LINKS: 2, MARKET: 1 });
  });

  test('is a guess from the first row on that is not known', () => {
    const dryRun = new DryRun();
    dryRun.calls({ key: 'a' }, to('LINKS'));
    expect(dryRun.plan.exact).toBe(true);
    dryRun.guesses();
    dryRun.calls({ key: 'b' }, to('LINKS'));
    expect(dryRun.plan).toMatchObject({ calls: 2, exact: false });
  });

  test('counts a read for each row that a made-up one stands for', () => {
    const dryRun = new DryRun();
    const ten = dryRun.standIns.idFor('the list', 10);
    dryRun.calls({ key: `/row/${ten}`, about: ten }, to('LINKS'));
    expect(dryRun.plan.calls).toBe(10);
    // The first ten are among the first twenty.
    const twenty = dryRun.standIns.idFor('the list', 20);
    dryRun.calls({ key: `/row/${twenty}`, about: twenty }, to('LINKS'));
    expect(dryRun.plan.calls).toBe(20);
    dryRun.calls({ key: `/row/${ten}`, about: ten }, to('LINKS'));
    expect(dryRun.plan.calls).toBe(20);
    expect(dryRun.counts({ key: `/row/${ten}`, about: ten })).toBe(true);
    const others = dryRun.standIns.idFor('another list', 3);
    dryRun.calls({ key: `/row/${others}`, about: others }, to('MARKET'));
    expect(dryRun.plan.callsByUpstream).toEqual({ LINKS: 20, MARKET: 3 });
  });

  test('fits as long as no more is counted than an operation may spend', () => {
    const dryRun = new DryRun();
    dryRun.calls({ key: 'a' }, to('LINKS'));
    dryRun.checkLimit('LINKS', () => 1);
    expect(dryRun.plan).toMatchObject({ fits: true, exact: true });
    dryRun.calls({ key: 'b' }, to('LINKS'));
    dryRun.checkLimit('LINKS', () => 1);
    expect(dryRun.plan).toMatchObject({ fits: false, exact: false });
  });

  test('reports at most 50 entries, and of each at most five fields', () => {
    const dryRun = new DryRun();
    for (let n = 0; n < 60; n += 1) dryRun.calls({ key: `${n}` }, to('LINKS', `field${n}`));
    for (let n = 0; n < 9; n += 1) {
      dryRun.calls({ key: `shared ${n}` }, to('LINKS', 'one'));
      for (let m = 0; m < 9; m += 1) dryRun.calls({ key: `shared ${n}` }, to('LINKS', `two${m}`));
    }
    const { requests, more } = dryRun.plan;
    expect(requests[0]).toMatchObject({
      calls: 9,
      fields: ['one', 'two0', 'two1', 'two2', 'two3'],
    });
    expect({ entries: requests.length, more }).toEqual({ entries: 50, more: 11 });
  });
});
