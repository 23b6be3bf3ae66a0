import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type Row, startWorld, type World } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const TTL = 60_000;
const SWR = 900_000;
/** Reads that follow from others: the items of the channels that the list names. */
const DASHBOARD =
  '{ account { username } channels(first: 3) { nodes { name items(first: 5) { totalCount } } } }';
/** Calls that it takes when nothing is kept. */
const CALLS = 5;

describe('A cached copy while the upstream answers nothing', () => {
  let clock: VirtualClock;
  let world: World;
  let cold: Answer<Row>;

  beforeEach(async () => {
    clock = new VirtualClock();
    world = await startWorld({
      clock,
      only: 'links',
      sandbox: { clock },
      env: {
        'ttl.account': String(TTL),
        'ttl.channels': String(TTL),
        'ttl.channelItems': String(TTL),
        staleWhileRevalidateMs: String(SWR),
        LINKS_RATE_LIMIT: '30',
      },
    });
    cold = await world.ask(DASHBOARD);
    expect(cold.receipt).toMatchObject({ calls: CALLS, stale: 0 });
    world.forgetCalls();
  });
  afterEach(async () => {
    // What goes on behind ends with its timeout.
    await clock.advance(60_000);
  });

  /** Asks, and reports how long it took on the virtual clock. */
  async function timed(query: string, headers: Record<string, string> = {}) {
    const since = clock.now();
    const took: { ms?: number } = {};
    const asked = world.ask(query, {}, headers).then((answer) => {
      took.ms = clock.now() - since;
      return answer;
    });
    await clock.settle();
    while (took.ms === undefined) await clock.step();
    return { answer: await asked, tookMs: took.ms };
  }

  it.each([
    ['past twice the ttl', 2 * TTL],
    ['kept for need only', TTL + SWR + 1],
  ])('is served once a tenth of the patience is over, when %s', async (_, age) => {
    world.sandbox.links.fault({ kind: 'hang' });
    await clock.advance(age);
    const { answer, tookMs } = await timed(DASHBOARD);
    expect(answer.errors).toEqual([]);
    expect(answer.data).toEqual(cold.data);
    expect(answer.receipt.stale).toBe(CALLS);
    expect(answer.receipt.maxAgeMs).toBeGreaterThanOrEqual(age);
    expect(tookMs).toBe(1000);
  });

  it('is served at once to those who come while those reads go on', async () => {
    world.sandbox.links.fault({ kind: 'hang' });
    await clock.advance(2 * TTL);
    await timed(DASHBOARD);
    await clock.advance(1000);
    const { answer, tookMs } = await timed(DASHBOARD);
    expect(answer.data).toEqual(cold.data);
    expect(answer.receipt).toMatchObject({ calls: 0, stale: CALLS });
    expect(tookMs).toBe(0);
  });

  it.each([
    ['2', 250],
    ['0', 250],
    ['5', 500],
    ['60', 1000],
  ])('is served sooner or later with Prefer: wait=%s, after %s ms', async (wait, ms) => {
    world.sandbox.links.fault({ kind: 'hang' });
    await clock.advance(2 * TTL);
    const { tookMs } = await timed(DASHBOARD, { prefer: `wait=${wait}` });
    expect(tookMs).toBe(ms);
  });

  it('gives way to the answer of the read that goes on behind', async () => {
    const ACCOUNT = '{ account { username } }';
    world.sandbox.links.fault({ kind: 'slow', delayMs: 3000 });
    await clock.advance(2 * TTL);
    const { answer, tookMs } = await timed(ACCOUNT);
    expect(answer.receipt).toMatchObject({ calls: 1, stale: 1, maxAgeMs: 2 * TTL + tookMs });
    await clock.advance(3000);
    expect((await world.ask(ACCOUNT)).receipt).toMatchObject({ calls: 0, stale: 0 });
    expect(world.calls()).toHaveLength(1);
  });

  it('is no help to a read that has none', async () => {
    world.sandbox.links.fault({ kind: 'hang' });
    await clock.advance(2 * TTL);
    const { answer, tookMs } = await timed('{ overlays { totalCount } }');
    expect(answer.errors).toMatchObject([{ extensions: { code: 'UPSTREAM_TIMEOUT' } }]);
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
  });
});
