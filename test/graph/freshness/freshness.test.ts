import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const ACCOUNT = '{ account { username } }';
const MINUTE = 60_000;

describe('How fresh answers are', () => {
  let clock: VirtualClock;
  let world: World;

  async function start(limit: number): Promise<void> {
    clock = new VirtualClock();
    world = await startWorld({
      clock,
      only: 'links',
      sandbox: { clock, limit: { requests: limit } },
      env: {
        LINKS_RATE_LIMIT: String(limit),
        'ttl.account': String(MINUTE),
        'ttl.files': String(MINUTE),
      },
    });
  }
  beforeEach(() => start(30));

  it('serves an answer just past its ttl at once, and refreshes it behind the reader', async () => {
    await world.ask(ACCOUNT);
    await clock.advance(MINUTE + 1000);
    const stale = await world.ask(ACCOUNT);
    expect(stale.receipt).toMatchObject({ calls: 0, stale: 1, maxAgeMs: MINUTE + 1000 });
    await clock.settle();
    expect(world.calls()).toHaveLength(2);
    expect((await world.ask(ACCOUNT)).receipt).toMatchObject({ calls: 0, stale: 0 });
  });

  it('reads an answer again that is long past its ttl while the budget has slots to spare', async () => {
    await world.ask(ACCOUNT);
    await clock.advance(2 * MINUTE);
    expect((await world.ask(ACCOUNT)).receipt).toMatchObject({ calls: 1, stale: 0, maxAgeMs: 0 });
  });

  it('serves it from what is kept when the budget has none, without a wait', async () => {
    await world.ask(ACCOUNT);
    await clock.advance(2 * MINUTE);
    world.sandbox.links.clearLog();
    const search = (name: number) =>
      world.ask(`{ files(search: "${name}") { totalCount } }`, {}, { prefer: 'wait=600' });
    const others = Promise.all(Array.from({ length: 40 }, (_, name) => search(name)));
    await clock.settle();
    const answer = await world.ask(ACCOUNT, {}, { prefer: 'wait=0' });
    expect(answer.errors).toEqual([]);
    expect(answer.receipt).toMatchObject({ calls: 0, stale: 1, waitedMs: 0 });
    await clock.advance(3 * MINUTE);
    await others;
  });

  it('refreshes nothing that no caller asks for', async () => {
    await world.ask(ACCOUNT);
    await clock.advance(30 * MINUTE);
    expect(world.calls()).toHaveLength(1);
  });

  it('refreshes what is asked for again and again before its ttl ends', async () => {
    for (let second = 0; second < 58; second += 1) {
      await world.ask(ACCOUNT);
      await clock.advance(1000);
    }
    expect(world.calls()).toHaveLength(2);
    await clock.advance(10_000);
    expect((await world.ask(ACCOUNT)).receipt).toMatchObject({ calls: 0, stale: 0 });
  });

  it('serves an older answer while the upstream is down, and tries again ever more seldom', async () => {
    await world.ask(ACCOUNT);
    world.sandbox.links.fault({ kind: 'error-500' });
    await clock.advance(20 * MINUTE);
    world.sandbox.links.clearLog();
    for (let second = 0; second < 60; second += 1) {
      const answer = await world.ask(ACCOUNT);
      expect(answer.errors).toEqual([]);
      expect(answer.receipt.stale).toBe(1);
      await clock.advance(1000);
    }
    // At 0, 2, 6, 14 and 30 seconds.
    expect(world.calls()).toHaveLength(5);
  });

  it('does not ask an upstream for a while that answers nothing at all', async () => {
    world.sandbox.links.fault({ kind: 'drop' });
    const codes: unknown[] = [];
    for (let ask = 0; ask < 20; ask += 1) {
      const rows = ask % 2 === 0 ? `files(search: "${ask}")` : 'campaigns';
      const { errors } = await world.ask(`{ ${rows} { totalCount } }`);
      codes.push(errors[0]?.extensions?.code);
    }
    expect(new Set(codes)).toEqual(new Set(['UPSTREAM_UNAVAILABLE']));
    expect(world.calls().length).toBeLessThan(10);
    world.sandbox.links.clearFaults();
    await clock.advance(1000);
    expect((await world.ask(ACCOUNT)).errors).toEqual([]);
  });
});
