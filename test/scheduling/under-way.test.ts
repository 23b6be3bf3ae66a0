import { describe, expect, it } from 'vitest';
import { UnderWay } from '../../src/scheduling/at-once.ts';

/** A read that ends when the test says so. */
function held() {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, read: () => ended };
}

/** Some turns of the event loop. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

describe('What follows from reads', () => {
  it('waits for all of their resources, for those that follow from them, and for no other', async () => {
    const reads = new UnderWay<string>();
    const [first, second, other] = [held(), held(), held()];
    const following = (async () => {
      await reads.track('channels', first.read);
      void reads.track('items', second.read);
    })();
    void reads.track('campaigns', other.read);
    const landed: string[] = [];
    const waits = [
      reads.ended(['channels', 'items']).then(() => landed.push('both')),
      reads.ended(['channels']).then(() => landed.push('channels')),
    ];
    await rest();
    expect(landed).toEqual([]);
    first.end();
    await following;
    await rest();
    expect(landed).toEqual(['channels']);
    second.end();
    await Promise.all(waits);
    expect(landed).toEqual(['channels', 'both']);
    other.end();
  });

  it('waits no longer for a read that failed', async () => {
    const reads = new UnderWay<string>();
    let fail = (): void => {};
    const failing = new Promise<void>((_, reject) => {
      fail = () => reject(new Error('broken'));
    });
    const tracked = expect(reads.track('channels', () => failing)).rejects.toThrow('broken');
    const landed = reads.ended(['channels']);
    await rest();
    fail();
    await Promise.all([tracked, landed]);
  });
});
