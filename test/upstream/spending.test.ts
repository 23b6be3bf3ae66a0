import { describe, expect, test } from 'vitest';
import { type PendingRead, Spending } from '../../src/upstream/spending.ts';

/** A read of its own, and what differs from that. */
function pending(key: string, more: Partial<PendingRead> = {}): PendingRead {
  return {
    upstream: 'LINKS',
    batch: 'rows',
    key,
    hasFallback: false,
    limit: 3,
    expected: { isShared: false, decide: () => {} },
    ...more,
  };
}

const TOO_EXPENSIVE = expect.objectContaining({ code: 'OPERATION_TOO_EXPENSIVE' });

/** Of each whether it is paid for, or the code of its error. */
async function outcome(reads: readonly Promise<boolean>[]): Promise<(boolean | string)[]> {
  const settled = await Promise.allSettled(reads);
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

  test('grants all of a batch that fits, and none of one that does not', async () => {
    const spending = new Spending();
    const reads = ['a1', 'a2', 'b1', 'b2', 'c1'].map((key) =>
      spending.admit(pending(key, { batch: key.charAt(0) })),
    );
    const refused = 'OPERATION_TOO_EXPENSIVE';
    expect(await outcome(reads)).toEqual([true, true, refused, refused, true]);
  });

  test('counts equal reads once, and not at all what is shared', async () => {
    const spending = new Spending();
    const decided = new Set<string>();
    const admit = (key: string, shared = false) =>
      spending.admit(
        pending(key, {
          expected: {
            get isShared() {
              return shared || decided.has(key);
            },
            decide: () => decided.add(key),
          },
        }),
      );
    const reads = [admit('a'), admit('a'), admit('b'), admit('s', true), admit('a'), admit('c')];
    expect(await outcome(reads)).toEqual([true, false, true, false, false, true]);
    expect(() => spending.take('LINKS', 3)).toThrow(TOO_EXPENSIVE);
  });

  test('spends on those with a fallback what those without leave, one by one', async () => {
    const spending = new Spending();
    const admit = (key: string, hasFallback: boolean) =>
      spending.admit(pending(key, { hasFallback }));
    const reads = [admit('a', true), admit('b', true), admit('c', false), admit('d', true)];
    expect(await outcome(reads)).toEqual([true, true, true, 'OPERATION_TOO_EXPENSIVE']);
  });

  test('states the cost and the advice once, and then only the code', async () => {
    const spending = new Spending();
    spending.take('LINKS', 3);
    const reads = ['a', 'b', 'c'].map((key) => spending.admit(pending(key)));
    const errors = (await Promise.allSettled(reads)).map((each) =>
      each.status === 'rejected' ? each.reason : null,
    );
    expect(errors[0]).toMatchObject({
      message:
        'Needs 3 upstream requests; 2 of 3 remain for this operation. Request at most 2 items.',
      details: { upstream: 'LINKS', limit: 3, needed: 3, left: 2 },
    });
    expect(errors[1]).toMatchObject({
      message: 'Rejected together with another field; see the first error.',
      details: { upstream: 'LINKS' },
    });
    expect(errors[2]).toBe(errors[1]);
  });

  test.each([
    ['rows of further pages', { rows: 10 }, 'Request 20 fewer items.'],
    ['nothing is left', { batch: 'other' }, 'Send it as a separate operation with at most 3'],
  ])('says what to ask instead: %s', async (_what, more, advice) => {
    const spending = new Spending();
    const taken = 'rows' in more ? 1 : 3;
    for (let n = 0; n < taken; n += 1) spending.take('LINKS', 3);
    const reads = ['a', 'b', 'c', 'd'].map((key) => spending.admit(pending(key, more)));
    await expect(reads[0]).rejects.toThrow(advice);
    await Promise.allSettled(reads);
  });
});
