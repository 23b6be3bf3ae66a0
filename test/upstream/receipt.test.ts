import { describe, expect, test } from 'vitest';
import { type Ingredient, Receipt } from '../../src/upstream/receipt.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { read } from './client-world.ts';

function createWorld() {
  const clock = new VirtualClock();
  return { clock, receipt: new Receipt(clock) };
}

/** A cache entry that served, of an age. */
function served(key: string, ageMs: number, stale = false): Ingredient {
  return {
    of: { key, read: read('files'), credential: { partition: 'p', secret: 's' } },
    upstream: 'LINKS',
    stamp: { storedAt: 0, generation: 0 },
    freshness: { ttlMs: 1000, staleWhileRevalidateMs: 0, staleIfErrorMs: 0 },
    state: stale ? 'stale' : 'fresh',
    ageMs,
    stale,
  };
}

/** A promise, and the means to settle it. */
function open() {
  let settle = (): void => {};
  const promise = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return { promise, settle: () => settle() };
}

describe('Receipt', () => {
  test('begins with nothing on it', () => {
    expect(createWorld().receipt.summary).toEqual({
      calls: 0,
      saved: { cache: 0, coalesced: 0 },
      stale: 0,
      refreshes: 0,
      maxAgeMs: 0,
      waitedMs: 0,
    });
  });

  test('counts an answer where it came from when it was first needed', () => {
    const { receipt } = createWorld();
    receipt.ingredients.add(served('kept', 5));
    receipt.joined('kept', { upstream: 'LINKS', resource: 'channels' });
    receipt.joined('joined', { upstream: 'LINKS', resource: 'channels' });
    receipt.ingredients.add(served('joined', 7));
    receipt.sent('LINKS', 'sent');
    receipt.ingredients.add(served('sent', 1));
    receipt.joined('sent', { upstream: 'LINKS', resource: 'channels' });
    expect(receipt.summary).toMatchObject({ calls: 1, saved: { cache: 1, coalesced: 1 } });
    expect(receipt.summary.maxAgeMs).toBe(7);
    const counts = receipt.savedKinds.map(({ count }) => count);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  test('counts an answer as a call once one has left for it, and every call', () => {
    const { receipt } = createWorld();
    receipt.ingredients.add(served('a', 5, true));
    receipt.sent('LINKS', 'a');
    receipt.sent('LINKS', 'a');
    receipt.sent('MARKET', 'b');
    expect(receipt.summary).toMatchObject({ calls: 3, saved: { cache: 0, coalesced: 0 } });
    expect([receipt.calls('LINKS'), receipt.calls('MARKET')]).toEqual([2, 1]);
  });

  test('counts an answer past its ttl once, and reports the age of the oldest', () => {
    const { receipt } = createWorld();
    receipt.ingredients.add(served('a', 90.4, true));
    receipt.ingredients.add(served('a', 90.4, true));
    receipt.ingredients.add(served('b', 20, true));
    receipt.ingredients.add(served('c', 10));
    expect(receipt.summary).toMatchObject({ saved: { cache: 3 }, stale: 2, maxAgeMs: 90 });
  });

  test('counts waits side by side once, and one after the other both', async () => {
    const { clock, receipt } = createWorld();
    receipt.waitBegins();
    await clock.advance(100);
    receipt.waitBegins();
    await clock.advance(100);
    expect(receipt.waitedMs).toBe(200);
    receipt.waitEnds();
    await clock.advance(100);
    receipt.waitEnds();
    await clock.advance(1000);
    receipt.waitBegins();
    await clock.advance(30);
    receipt.waitEnds();
    await clock.advance(1000);
    expect(receipt.summary.waitedMs).toBe(330);
  });

  test('is idle when no read is under way and none follows from the last', async () => {
    const { receipt, clock } = createWorld();
    const [first, second] = [open(), open()];
    const order: string[] = [];
    const chain = receipt
      .track(() => first.promise)
      .then(() => receipt.track(() => second.promise))
      .then(() => order.push('read'));
    const idle = receipt.idle().then(() => order.push('idle'));
    await clock.settle();
    expect(order).toEqual([]);
    first.settle();
    await clock.settle();
    expect(order).toEqual([]);
    second.settle();
    await Promise.all([chain, idle]);
    expect(order).toEqual(['read', 'idle']);
  });

  test('is idle at once when nothing is read, and after a read that failed', async () => {
    const { receipt } = createWorld();
    await receipt.idle();
    const failing = receipt.track(() => Promise.reject(new Error('no')));
    const [outcome] = await Promise.allSettled([failing, receipt.idle()]);
    expect(outcome).toMatchObject({ status: 'rejected' });
    await receipt.idle();
  });

  test('waits for all reads side by side, and informs all callers that ask', async () => {
    const { receipt, clock } = createWorld();
    const all = [open(), open(), open()];
    const reads = all.map(({ promise }) => receipt.track(() => promise));
    let idle = 0;
    const askers = [1, 2].map(() => receipt.idle().then(() => (idle += 1)));
    for (const { settle } of all) {
      await clock.settle();
      expect(idle).toBe(0);
      settle();
    }
    await Promise.all([...reads, ...askers]);
    expect(idle).toBe(2);
  });
});
