import { describe, expect, it } from 'vitest';
import { SharedClock } from '../../src/redis/shared-clock.ts';

describe('the shared clock, as a replica knows it', () => {
  it('is unknown before the first reply, and in another memory of Redis', () => {
    const clock = new SharedClock(100);
    expect([clock.boundsAt(0), clock.heardAt]).toEqual([null, Number.NEGATIVE_INFINITY]);
    clock.heard(5000, 10, 20);
    expect(clock.heardAt).toBe(10);
    clock.begin(null);
    expect([clock.boundsAt(0), clock.heardAt]).toEqual([null, Number.NEGATIVE_INFINITY]);
    clock.heard(1000, 30, 40);
    expect(clock.boundsAt(40)).toEqual({ lower: 1000, latest: 1010, upper: 1110 });
  });

  it('is between what it would be if the reply or the command took all the time', () => {
    const clock = new SharedClock(100);
    clock.heard(5000, 10, 20);
    expect(clock.boundsAt(20)).toEqual({ lower: 5000, latest: 5010, upper: 5110 });
    // A thousandth is for clocks that differ.
    expect(clock.boundsAt(1020)).toEqual({ lower: 5999, latest: 6010, upper: 6110 });
  });

  it('is not behind where it was for a reply that says so', () => {
    const clock = new SharedClock(100);
    clock.heard(5000, 10, 20);
    // Redis stood still for four seconds, and then held its clock up by a command that was late.
    clock.heard(5200, 1100, 5100);
    expect(clock.boundsAt(5100)).toEqual({ lower: 10_074, latest: 10_075, upper: 10_175 });
    // A moment before that is as long ago as it was, and not only as the last reply makes it.
    expect(clock.toLocal(4000)).toBe(-980);
    clock.heard(10_150, 5150, 5160);
    expect(clock.boundsAt(5160)).toEqual({ lower: 10_150, latest: 10_160, upper: 10_260 });
  });

  it('counts moments from before it was heard of as longer ago by the time that may be lost', () => {
    const clock = new SharedClock(100);
    clock.begin({ until: 4900, ms: 700 });
    clock.heard(5000, 10, 20);
    expect([clock.toLocal(4900), clock.toLocal(4901)]).toEqual([-790, -89]);
    expect(clock.boundsAt(20)).toEqual({ lower: 5000, latest: 5010, upper: 5110 });
    clock.begin(null);
    clock.heard(5000, 10, 20);
    expect(clock.toLocal(4900)).toBe(-90);
  });

  it('follows a reply that is ahead, as a clock set forward makes it', () => {
    const clock = new SharedClock(100);
    clock.heard(5000, 10, 20);
    clock.heard(5200, 30, 40);
    expect(clock.boundsAt(40)).toEqual({ lower: 5200, latest: 5210, upper: 5310 });
    expect(clock.toLocal(5100)).toBe(-70);
  });
});
