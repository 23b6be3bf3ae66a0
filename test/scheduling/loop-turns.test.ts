import { describe, expect, it } from 'vitest';
import { LoopTurns } from '../../src/scheduling/loop-turns.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A clock that work moves on, as work does. */
class Working extends VirtualClock {
  #worked = 0;

  override now(): number {
    return super.now() + this.#worked;
  }

  work(ms: number): void {
    this.#worked += ms;
  }
}

/** Lets the event loop turn, and reports what was begun in each turn. */
async function turnsOf(begun: readonly number[], count: number): Promise<number[][]> {
  const turns: number[][] = [];
  let seen = 0;
  while (seen < count) {
    turns.push(begun.slice(seen));
    seen = begun.length;
    await turnEnds();
  }
  return turns.filter(({ length }) => length > 0);
}

describe('Requests that arrive together', () => {
  it('are begun in order, some in each turn', async () => {
    const clock = new Working();
    const turns = new LoopTurns(clock);
    const begun: number[] = [];
    for (let n = 0; n < 100; n += 1) {
      turns.run(() => {
        begun.push(n);
        clock.work(5);
      });
    }
    const found = await turnsOf(begun, 100);
    expect(begun).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(Math.max(...found.map(({ length }) => length))).toBeLessThanOrEqual(2);
  });

  it('stand behind those that wait, also when they come between two turns', async () => {
    const clock = new Working();
    const turns = new LoopTurns(clock);
    const begun: number[] = [];
    const ask = (n: number): void =>
      turns.run(() => {
        begun.push(n);
        clock.work(15);
      });
    for (let n = 0; n < 5; n += 1) ask(n);
    for (let n = 5; n < 15; n += 1) {
      await turnEnds();
      ask(n);
    }
    await turnsOf(begun, 15);
    expect(begun).toEqual(Array.from({ length: 15 }, (_, n) => n));
  });

  it('are begun at once when they cost little', () => {
    const turns = new LoopTurns(new Working());
    let begun = 0;
    for (let n = 0; n < 1000; n += 1) {
      turns.run(() => {
        begun += 1;
      });
    }
    expect(begun).toBe(1000);
  });

  it('of one owner do not delay those of another, and stay in order', async () => {
    const clock = new Working();
    const turns = new LoopTurns(clock);
    const begun: string[] = [];
    const ask = (owner: string, n: number): void =>
      turns.run(() => {
        begun.push(`${owner}${n}`);
        clock.work(5);
      }, owner);
    for (let n = 0; n < 50; n += 1) ask('a', n);
    for (let n = 0; n < 3; n += 1) ask('b', n);
    while (begun.length < 53) await turnEnds();
    // The first began at once.
    expect(begun.slice(0, 7)).toEqual(['a0', 'a1', 'b0', 'a2', 'b1', 'a3', 'b2']);
    expect(begun.filter((each) => each.startsWith('a'))).toEqual(
      Array.from({ length: 50 }, (_, n) => `a${n}`),
    );
  });

  it('give each owner the same time, however long their pieces of work are', async () => {
    const clock = new Working();
    const turns = new LoopTurns(clock);
    const had = { long: 0, short: 0, late: 0 };
    const ask = (owner: keyof typeof had, ms: number): void =>
      turns.run(() => {
        had[owner] += ms;
        clock.work(ms);
      }, owner);
    for (let n = 0; n < 40; n += 1) ask('long', 20);
    for (let n = 0; n < 400; n += 1) ask('short', 2);
    while (had.long + had.short < 400) await turnEnds();
    expect(Math.abs(had.long - had.short)).toBeLessThanOrEqual(2 * 20);
    // One who comes now is neither behind what the others have had, nor before all that they still want.
    const before = { ...had };
    for (let n = 0; n < 100; n += 1) ask('late', 2);
    while (had.late < 100) await turnEnds();
    expect(had.long - before.long).toBeGreaterThanOrEqual(60);
    expect(had.short - before.short).toBeGreaterThanOrEqual(60);
    expect(had.long + had.short - before.long - before.short).toBeLessThanOrEqual(300);
  });

  it('leave turns to connections that arrive, though not all', async () => {
    const turns = new LoopTurns(new Working());
    let begun = 0;
    for (let turn = 0; turn < 1000; turn += 1) {
      turns.accepted();
      turns.run(() => {
        begun += 1;
      });
      if (turn === 20) expect(begun).toBe(0);
      await turnEnds();
    }
    expect(begun).toBeGreaterThan(900);
    await turnEnds();
    await turnEnds();
    expect(begun).toBe(1000);
  });
});

async function turnEnds(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
