import { describe, expect, it } from 'vitest';
import { EpochPace } from '../../src/redis/epoch-pace.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

function paced(chance = () => 1) {
  const clock = new VirtualClock();
  const pace = new EpochPace({ clock, chance, shortestMs: 100, longestMs: 1000 });
  return { clock, pace };
}

describe('the pace of epochs', () => {
  it('holds nothing up at the first loss, nor at one that comes long after another', async () => {
    const { clock, pace } = paced();
    for (let epoch = 0; epoch < 3; epoch += 1) {
      pace.began();
      expect([pace.pauseMs, pace.isOpen, pace.isRestless]).toEqual([0, true, false]);
      await clock.advance(10_000);
    }
  });

  it('doubles the pause with each loss in a row, up to the longest', async () => {
    const { clock, pace } = paced();
    pace.began();
    const pauses: number[] = [];
    for (let loss = 0; loss < 6; loss += 1) {
      pace.began();
      pauses.push(pace.pauseMs);
      await clock.advance(pace.pauseMs);
      // What a beat finds does not end the series.
      expect([pace.pauseMs, pace.isOpen]).toEqual([0, false]);
      pace.isOpen = true;
      expect(pace.isOpen).toBe(true);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(pace.isRestless).toBe(true);
    await clock.advance(9000);
    expect(pace.isRestless).toBe(false);
  });

  it('is another for each replica, and never shorter than half', () => {
    for (const [chance, pauseMs] of [
      [0, 50],
      [0.5, 75],
    ] as const) {
      const { pace } = paced(() => chance);
      pace.began();
      pace.began();
      expect(pace.pauseMs).toBe(pauseMs);
      expect(pace.isRestless).toBe(false);
    }
  });
});
