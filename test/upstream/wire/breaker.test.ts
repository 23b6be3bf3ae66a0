import { describe, expect, it } from 'vitest';
import { Breaker } from '../../../src/upstream/wire/breaker.ts';
import { WireError } from '../../../src/upstream/wire/send.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const LOST = new WireError('lost');
const BROKEN = { kind: 'unavailable', detail: 'HTTP 500 with HTML' } as const;

function tripped(clock: VirtualClock): Breaker {
  const breaker = new Breaker(clock);
  for (let failure = 0; failure < 5; failure += 1) breaker.failed('/api/qr', LOST);
  return breaker;
}

describe('The breaker of an upstream', () => {
  it('opens after five requests in a row without an answer', () => {
    const breaker = new Breaker(new VirtualClock());
    for (let failure = 0; failure < 4; failure += 1) breaker.failed('/api/qr', LOST);
    expect(breaker.openMs).toBe(0);
    breaker.failed('/api/qr', LOST);
    expect(breaker.openMs).toBe(1000);
  });

  it('opens once for all requests that were under way together', () => {
    const breaker = tripped(new VirtualClock());
    for (let failure = 0; failure < 20; failure += 1) breaker.failed('/api/pixels', LOST);
    expect(breaker.openMs).toBe(1000);
  });

  it('stays closed while answers come between the failures', () => {
    const breaker = new Breaker(new VirtualClock());
    for (let failure = 0; failure < 20; failure += 1) {
      breaker.failed('/api/qr', LOST);
      if (failure % 4 === 3) breaker.succeeded();
    }
    expect(breaker.openMs).toBe(0);
  });

  it('leaves the others alone when one endpoint alone is out of order', () => {
    const breaker = new Breaker(new VirtualClock());
    for (let failure = 0; failure < 20; failure += 1) breaker.failed('/api/qr', BROKEN);
    expect(breaker.openMs).toBe(0);
    breaker.failed('/api/pixels', BROKEN);
    expect(breaker.openMs).toBeGreaterThan(0);
  });

  it('lets one request find out whether the upstream is back', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    await clock.advance(1000);
    expect(breaker.openMs).toBe(0);
    breaker.leaving();
    expect(breaker.openMs).toBeGreaterThan(0);
    breaker.succeeded();
    expect(breaker.openMs).toBe(0);
  });

  it('waits twice as long each time the upstream is not, up to half a minute', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    const openings: number[] = [];
    for (let opening = 0; opening < 7; opening += 1) {
      openings.push(breaker.openMs);
      await clock.advance(breaker.openMs);
      breaker.leaving();
      breaker.failed('/api/qr', LOST);
    }
    expect(openings).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });
});
