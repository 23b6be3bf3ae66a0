import { describe, expect, test } from 'vitest';
import { Rehearsal } from '../../src/upstream/dry-run.ts';

describe('Rehearsal', () => {
  test('costs nothing before anything is asked', () => {
    expect(new Rehearsal().plan).toEqual({
      calls: 0,
      callsByUpstream: { LINKS: 0, MARKET: 0 },
      saved: { cache: 0, coalesced: 0 },
      exact: true,
    });
  });

  test('counts an answer once, however often it is needed', () => {
    const rehearsal = new Rehearsal();
    for (let n = 0; n < 3; n += 1) {
      rehearsal.calls('LINKS', 'a');
      rehearsal.calls('MARKET', 'b');
      rehearsal.calls('LINKS', 'c');
      rehearsal.keeps('d');
      rehearsal.joins('e');
      rehearsal.joins('f');
    }
    expect(rehearsal.plan).toMatchObject({
      calls: 3,
      callsByUpstream: { LINKS: 2, MARKET: 1 },
      saved: { cache: 1, coalesced: 2 },
    });
  });

  test('counts what nobody shares each time', () => {
    const rehearsal = new Rehearsal();
    rehearsal.callsAlone('LINKS');
    rehearsal.callsAlone('LINKS');
    rehearsal.callsAlone('MARKET');
    expect(rehearsal.plan.callsByUpstream).toEqual({ LINKS: 2, MARKET: 1 });
  });

  test('is a guess from the first row on that is not known', () => {
    const rehearsal = new Rehearsal();
    rehearsal.calls('LINKS', 'a');
    expect(rehearsal.plan.exact).toBe(true);
    rehearsal.guesses();
    rehearsal.calls('LINKS', 'b');
    expect(rehearsal.plan).toMatchObject({ calls: 2, exact: false });
  });
});
