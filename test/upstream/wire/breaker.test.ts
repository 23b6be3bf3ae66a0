import { describe, expect, it } from 'vitest';
import { Breaker } from '../../../src/upstream/wire/breaker.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** The given number of failed requests in a row. */
function fail(
  breaker: Breaker,
  kind: string,
  fault: 'host' | 'resource' = 'resource',
  times = 1,
): void {
  for (let count = 0; count < times; count += 1) breaker.leaving(kind).failed(fault);
}

function tripped(clock: VirtualClock): Breaker {
  const breaker = new Breaker(clock);
  fail(breaker, 'qr', 'host', 5);
  return breaker;
}

describe('The breaker of an upstream', () => {
  it('opens after five requests in a row that did not reach the host', () => {
    const breaker = new Breaker(new VirtualClock());
    fail(breaker, 'qr', 'host', 4);
    expect(breaker.openMs).toBe(0);
    fail(breaker, 'qr', 'host');
    expect(breaker.openMs).toBe(1000);
  });

  it('opens once for all requests that were under way together', () => {
    const breaker = new Breaker(new VirtualClock());
    const together = Array.from({ length: 25 }, (_, n) => breaker.leaving(`kind ${n}`));
    for (const departure of together) departure.failed('resource');
    expect(breaker.openMs).toBe(1000);
  });

  it('stays closed while answers come between the failures', () => {
    const breaker = new Breaker(new VirtualClock());
    for (let count = 0; count < 20; count += 1) {
      fail(breaker, count % 2 === 0 ? 'qr' : 'pixel');
      if (count % 4 === 3) breaker.leaving('account').answered();
    }
    expect(breaker.openMs).toBe(0);
  });

  it('leaves the others alone when one kind of resource alone is out of order', () => {
    const breaker = new Breaker(new VirtualClock());
    fail(breaker, 'qr', 'resource', 20);
    expect(breaker.openMs).toBe(0);
    fail(breaker, 'pixel');
    expect(breaker.openMs).toBeGreaterThan(0);
  });

  it('does not count what says nothing about the upstream', () => {
    const breaker = new Breaker(new VirtualClock());
    fail(breaker, 'qr', 'host', 4);
    for (let count = 0; count < 20; count += 1) breaker.leaving('file', false).ended();
    expect(breaker.openMs).toBe(0);
    fail(breaker, 'qr', 'host');
    expect(breaker.openMs).toBe(1000);
  });

  it('lets one request find out whether the upstream is back', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    await clock.advance(1000);
    expect(breaker.openMs).toBe(0);
    const probe = breaker.leaving('qr');
    expect(breaker.openMs).toBeGreaterThan(0);
    probe.answered();
    expect(breaker.openMs).toBe(0);
  });

  it('waits twice as long each time the upstream is not, up to half a minute', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    const openings: number[] = [];
    for (let opening = 0; opening < 7; opening += 1) {
      openings.push(breaker.openMs);
      await clock.advance(breaker.openMs);
      fail(breaker, 'qr', 'host');
    }
    expect(openings).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });
});

describe('The probe of a half-open breaker', () => {
  it('has ten seconds, after which another may go', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    await clock.advance(1000);
    const probe = breaker.leaving('qr');
    await clock.advance(9999);
    expect(breaker.openMs).toBeGreaterThan(0);
    await clock.advance(1 + 2000);
    expect(breaker.openMsFor('account')).toBe(0);
    probe.answered();
    expect(breaker.openMsFor('qr')).toBe(0);
  });

  it('is never an upload, which closes the breaker all the same when it is answered', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    await clock.advance(1000);
    const upload = breaker.leaving('file', false);
    expect(breaker.openMs).toBe(0);
    upload.answered();
    fail(breaker, 'qr', 'host', 4);
    expect(breaker.openMs).toBe(0);
  });

  it('opens it again when an upload does not reach the host', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    await clock.advance(1000);
    breaker.leaving('file', false).failed('host');
    expect(breaker.openMs).toBe(2000);
  });

  it('leaves the next turn to another kind of resource when its own has failed', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    await clock.advance(1000);
    fail(breaker, 'qr');
    await clock.advance(2000);
    expect(breaker.openMsFor('qr')).toBe(30_000);
    expect(breaker.openMsFor('account')).toBe(0);
    // No other caller asked.
    await clock.advance(30_000);
    expect(breaker.openMsFor('qr')).toBe(0);
  });

  it('that ends without a word of the upstream leaves the turn to the next', async () => {
    const clock = new VirtualClock();
    const breaker = tripped(clock);
    await clock.advance(1000);
    breaker.leaving('qr').ended();
    expect(breaker.openMs).toBe(0);
    breaker.leaving('qr');
    expect(breaker.openMs).toBeGreaterThan(0);
  });
});
