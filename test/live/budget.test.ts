import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';

const BUDGET = 'query @live { rateLimit { limit used remaining cost resetAt } }';

interface Told {
  readonly rateLimit: {
    readonly limit: number;
    readonly used: number;
    readonly remaining: number;
    readonly cost: number;
  };
}

let door: Door;

async function open(env: Readonly<Record<string, string>> = {}): Promise<void> {
  door = await openDoor({ AUTH_MODE: 'none', ...env });
}

const begun = (query = BUDGET): Promise<LiveViewer> => LiveViewer.begun(door.url, { query });
const budgetOf = ({ data }: LiveViewer) => (data as Told).rateLimit;

async function runs(): Promise<number> {
  const { text } = await door.send('/metrics');
  return Number(/^gateway_live_runs_total (\d+)/m.exec(text)?.[1] ?? 0);
}

/** The age in the latest event that reports one. */
function ageOf({ events }: LiveViewer): number | undefined {
  return events.findLast(({ data }) => data?.extensions?.live)?.data?.extensions?.live?.ageMs;
}

describe('rateLimit in a live query', () => {
  it('follows the budget, down with each request and up with each slot that is free again', async () => {
    await open();
    const viewer = await begun();
    const { limit } = budgetOf(viewer);
    expect(budgetOf(viewer)).toMatchObject({ used: 0, remaining: limit, cost: 0 });
    await door.ask('{ account { username } }');
    await door.clock.advance(3000);
    await viewer.until(() => budgetOf(viewer).used === 1);
    expect(budgetOf(viewer)).toMatchObject({ remaining: limit - 1, cost: 0 });
    await door.clock.advance(63_000);
    await viewer.until(() => budgetOf(viewer).used === 0);
    // Watching costs nothing.
    expect(door.calls()).toBe(1);
    const { data } = await door.ask(BUDGET);
    expect(data).toEqual(viewer.data);
  });

  it('is run once for all who look, and no more often than every two seconds', async () => {
    await open();
    const viewers = await Promise.all(Array.from({ length: 10 }, () => begun()));
    expect(await runs()).toBe(1);
    for (let n = 1; n <= 10; n += 1) {
      await door.ask(
        `{ campaigns(first: 1, after: null) { totalCount } qrCode(id: ${n}) { name } }`,
      );
      await door.clock.advance(500);
    }
    await door.clock.advance(3000);
    const { data } = await door.ask('{ rateLimit { used } }');
    const { used } = (data as unknown as Told).rateLimit;
    expect(used).toBeGreaterThan(5);
    for (const viewer of viewers) await viewer.until(() => budgetOf(viewer).used === used);
    expect(await runs()).toBeLessThanOrEqual(1 + 4);
  });

  it('is as old as it says: since it was last found to be so', async () => {
    await open();
    const viewer = await begun();
    await door.clock.advance(1500);
    expect(ageOf(await begun())).toBe(1500);
    await door.clock.advance(18_500);
    await viewer.until(({ events }) => events.length > 1);
    expect(viewer.named('next', 'patch')).toHaveLength(1);
    expect(ageOf(viewer)).toBeLessThanOrEqual(2000);
    expect(await runs()).toBe(1);
  });

  it('reports in the receipt of each run what that run cost', async () => {
    await open();
    const query = 'query @live { account { username } rateLimit { used cost } }';
    const viewer = await begun(query);
    expect(budgetOf(viewer)).toEqual({ used: 1, cost: 1 });
    expect(viewer.events[0]?.data?.extensions?.upstream?.calls).toBe(1);
    await door.ask('{ pixels(first: 1) { totalCount } }');
    await door.clock.advance(3000);
    await viewer.until(() => budgetOf(viewer).used === 2);
    expect(budgetOf(viewer).cost).toBe(0);
    const other = await begun(query);
    expect(other.events[0]?.data?.extensions?.upstream?.calls).toBe(0);
    expect(ageOf(other)).toBeGreaterThanOrEqual(3000);
    expect(door.calls()).toBe(2);
  });

  it.each([
    ['a field that fails', {}, true],
    ['a field that is never cached', { 'ttl.pixels': '0' }, false],
  ])('spends no more than without it beside %s', async (_, env, fails) => {
    const spent: number[] = [];
    for (const more of ['', 'rateLimit { used }']) {
      await open(env);
      if (fails) door.sandbox.links.fault({ kind: 'error-500', path: '/api/pixels' });
      const query = `query @live { ${more} pixels(first: 1) { totalCount } }`;
      await begun(query);
      for (let n = 0; n < 40; n += 1) await door.clock.advance(1000);
      spent.push(door.calls());
      LiveViewer.closeAll();
      if (more === '') await door.close();
    }
    const [without = 0, withBudget = 0] = spent;
    expect(withBudget).toBeLessThanOrEqual(without + 2);
  });
});
