import { beforeAll, describe, expect, it } from 'vitest';
import { preferenceApplied, preferredWaitMs } from '../../../src/http/door/caller.ts';
import { type Door, openDoor } from '../../support/door.ts';

describe('a preferred wait', () => {
  it.each([
    ['wait=5', 5000],
    ['WAIT = "5"', 5000],
    ['respond-async, wait=5', 5000],
    ['wait=5; x=7', 5000],
    ['a="b, wait=1", wait=5', 5000],
    ['wait=0', 0],
    ['wait=10', 10_000],
    ['wait=11', 10_000],
    ['wait=3600', 10_000],
    [`wait=${'9'.repeat(400)}`, 10_000],
    // The first of several counts, also where it cannot be used.
    ['wait=2, wait=9', 2000],
    ['wait=x, wait=9', null],
    ['wait=1e9', null],
    ['wait=-5', null],
    ['wait=NaN', null],
    ['wait=Infinity', null],
    ['wait=1.5', null],
    ['wait=0x10', null],
    ['wait=', null],
    ['wait', null],
    ['foo; wait=9', null],
    ['await=9', null],
    ['', null],
    [null, null],
  ])('%j is %j ms where 10 s are the most', (prefer, waitMs) => {
    expect(preferredWaitMs(prefer, 10_000)).toBe(waitMs);
  });

  it('is told in whole seconds', () => {
    expect(preferenceApplied('wait=9', 1500)).toBe('wait=1');
    expect(preferenceApplied('wait=soon', 1500)).toBeNull();
  });
});

describe('an answer', () => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(
      { AUTH_MODE: 'none', LINKS_RATE_LIMIT: '2', MAX_WAIT_MS: '5000' },
      {
        sandbox: { limit: { requests: 2 } },
      },
    );
    await door.ask('{ account { id } plans { id } }');
  });

  it.each([
    ['wait=3600', 'wait=5'],
    ['wait=1', 'wait=1'],
    ['wait=-1', null],
  ])('to Prefer: %s states the applied wait', async (prefer, applied) => {
    const asked = door.ask('{ campaigns { totalCount } }', null, { headers: { prefer } });
    const { code, headers } = await asked;
    expect([code, headers.get('preference-applied')]).toEqual(['BUDGET_EXHAUSTED', applied]);
  });

  it('to two headers goes by the first', async () => {
    const { headers } = await door.send('/graphql?query={__typename}', {
      headers: [
        ['prefer', 'wait=2'],
        ['prefer', 'wait=4'],
        ['x-graphql-yoga-csrf', '1'],
      ],
    });
    expect(headers.get('preference-applied')).toBe('wait=2');
  });

  it('without a preference has no such header', async () => {
    const { headers } = await door.ask('{ __typename }');
    expect(headers.get('preference-applied')).toBeNull();
  });
});
