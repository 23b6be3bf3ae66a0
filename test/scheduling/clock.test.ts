import { describe, expect, test } from 'vitest';
import { Deadline } from '../../src/scheduling/clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A deadline, and when it has passed. */
function begin() {
  const clock = new VirtualClock();
  const passed: number[] = [];
  const deadline = new Deadline(clock, () => passed.push(clock.now()));
  return { clock, deadline, passed };
}

describe('a deadline', () => {
  test('passes once, on time', async () => {
    const { clock, deadline, passed } = begin();
    deadline.set(1000);
    await clock.advance(5000);
    expect(passed).toEqual([1000]);
  });

  test('passes on time when it was set again, later or sooner', async () => {
    const { clock, deadline, passed } = begin();
    deadline.set(1000);
    await clock.advance(900);
    deadline.set(1000);
    await clock.advance(2000);
    deadline.set(1000);
    deadline.set(100);
    await clock.advance(2000);
    expect(passed).toEqual([1900, 3000]);
  });

  test('does not pass once it is lifted, and can be set again', async () => {
    const { clock, deadline, passed } = begin();
    deadline.set(1000);
    await clock.advance(500);
    deadline.lift();
    await clock.advance(100);
    deadline.set(1000);
    await clock.advance(3000);
    deadline.set(1000);
    deadline.lift();
    await clock.advance(3000);
    expect(passed).toEqual([1600]);
  });

  test('needs no timer for each time that it is set', async () => {
    const { clock, deadline } = begin();
    for (let count = 0; count < 100; count += 1) {
      deadline.set(1000);
      deadline.lift();
    }
    expect(await clock.step()).toBe(true);
    expect(await clock.step()).toBe(false);
  });

  test('leaves no timer behind when it ends', async () => {
    const { clock, deadline, passed } = begin();
    deadline.set(1000);
    deadline.end();
    expect(await clock.step()).toBe(false);
    expect(passed).toEqual([]);
  });
});
