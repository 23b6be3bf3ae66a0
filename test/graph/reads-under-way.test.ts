import { describe, expect, it } from 'vitest';
import { ReadsUnderWay } from '../../src/graph/reads-under-way.ts';

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
    const reads = new ReadsUnderWay();
    const [first, second, other] = [held(), held(), held()];
    const following = reads.track('channels', first.read).then(() => {
      void reads.track('items', second.read);
    });
    void reads.track('campaigns', other.read);
    let landed = 0;
    const waits = [
      reads.landed(['channels', 'items']).then(() => {
        landed += 1;
      }),
      reads.landed(['channels']).then(() => {
        landed += 10;
      }),
    ];
    await rest();
    expect(landed).toBe(0);
    first.end();
    await following;
    await rest();
    expect(landed).toBe(10);
    second.end();
    await Promise.all(waits);
    expect(landed).toBe(11);
    other.end();
  });

  it('waits no longer for a read that failed', async () => {
    const reads = new ReadsUnderWay();
    let fail = (_: Error): void => {};
    const failing = new Promise<void>((_, reject) => {
      fail = reject;
    });
    const tracked = expect(reads.track('channels', () => failing)).rejects.toThrow('broken');
    const landed = reads.landed(['channels']);
    await rest();
    fail(new Error('broken'));
    await Promise.all([tracked, landed]);
  });
});
