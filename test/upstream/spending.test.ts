import { describe, expect, test } from 'vitest';
import { Spending, type Wish } from '../../src/upstream/spending.ts';

/** A wish for a read of its own, and what differs from that. */
function wishOf(key: string, more: Partial<Wish<string>> = {}): Wish<string> {
  return {
    upstream: 'LINKS',
    batch: 'rows',
    key,
    hasCopy: false,
    limit: () => 3,
    isShared: () => false,
    begin: async () => key,
    ...more,
  };
}

const TOO_EXPENSIVE = expect.objectContaining({ code: 'OPERATION_TOO_EXPENSIVE' });

async function outcome(wishes: readonly Promise<string>[]): Promise<string[]> {
  const settled = await Promise.allSettled(wishes);
  return settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code));
}

describe('Spending', () => {
  test('sets aside as much as the limit for each upstream, and takes back what is not needed', () => {
    const spending = new Spending();
    spending.take('LINKS', 2);
    spending.take('LINKS', 2);
    expect(() => spending.take('LINKS', 2)).toThrow(
      expect.objectContaining({
        code: 'OPERATION_TOO_EXPENSIVE',
        details: { upstream: 'LINKS', limit: 2, needed: 1, left: 0 },
      }),
    );
    spending.take('MARKET', 1);
    spending.giveBack('LINKS');
    spending.take('LINKS', 2);
    expect(() => spending.take('LINKS', 2)).toThrow(TOO_EXPENSIVE);
  });

  test('begins all of a batch that fits, and none of one that does not', async () => {
    const spending = new Spending();
    const wish = (key: string, batch: string) => spending.wish(wishOf(key, { batch }));
    const wishes = ['a1', 'a2', 'b1', 'b2', 'c1'].map((key) => wish(key, key.charAt(0)));
    const refused = 'OPERATION_TOO_EXPENSIVE';
    expect(await outcome(wishes)).toEqual(['a1', 'a2', refused, refused, 'c1']);
  });

  test('counts equal reads once, and not at all what is shared', async () => {
    const spending = new Spending();
    const begun = new Set<string>();
    const wish = (key: string, shared = false) =>
      spending.wish(
        wishOf(key, {
          isShared: () => shared || begun.has(key),
          begin: async () => {
            begun.add(key);
            return key;
          },
        }),
      );
    const wishes = [wish('a'), wish('a'), wish('b'), wish('s', true), wish('a'), wish('c')];
    expect(await outcome(wishes)).toEqual(['a', 'a', 'b', 's', 'a', 'c']);
    expect(() => spending.take('LINKS', 3)).toThrow(TOO_EXPENSIVE);
  });

  test('spends on those with a copy what those without leave, one by one', async () => {
    const spending = new Spending();
    const wish = (key: string, hasCopy: boolean) => spending.wish(wishOf(key, { hasCopy }));
    const wishes = [wish('a', true), wish('b', true), wish('c', false), wish('d', true)];
    expect(await outcome(wishes)).toEqual(['a', 'b', 'c', 'OPERATION_TOO_EXPENSIVE']);
  });

  test('tells what it would take and what to ask instead once, and then no more than the code', async () => {
    const spending = new Spending();
    spending.take('LINKS', 3);
    const wishes = ['a', 'b', 'c'].map((key) => spending.wish(wishOf(key)));
    const errors = (await Promise.allSettled(wishes)).map((each) =>
      each.status === 'rejected' ? each.reason : null,
    );
    expect(errors[0]).toMatchObject({
      message:
        'This takes 3 requests to the link-management API, and of the 3 that an operation may make 2 are left. Ask for at most 2 of them at once.',
      details: { upstream: 'LINKS', limit: 3, needed: 3, left: 2 },
    });
    expect(errors[1]).toMatchObject({
      message: 'Refused with a field before.',
      details: { upstream: 'LINKS' },
    });
    expect(errors[2]).toBe(errors[1]);
  });

  test.each([
    ['rows of further pages', { rows: 10 }, 'Ask for 20 rows less.'],
    ['nothing is left', { batch: 'other' }, 'Ask for them in an operation of their own, at most 3'],
  ])('says what to ask instead: %s', async (_what, more, advice) => {
    const spending = new Spending();
    const taken = 'rows' in more ? 1 : 3;
    for (let n = 0; n < taken; n += 1) spending.take('LINKS', 3);
    const wishes = ['a', 'b', 'c', 'd'].map((key) => spending.wish(wishOf(key, more)));
    await expect(wishes[0]).rejects.toThrow(advice);
    await Promise.allSettled(wishes);
  });

  test('passes on what goes wrong at the start', async () => {
    const begin = () => {
      throw new Error('no');
    };
    await expect(new Spending().wish(wishOf('a', { begin }))).rejects.toThrow('no');
  });
});
