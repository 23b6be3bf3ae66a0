import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Row, startWorld, type World } from '../support/gateway.ts';

let sandbox: Sandbox;
let world: World;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());
beforeEach(async () => {
  sandbox.reset();
  const env = { LINKS_RATE_LIMIT: '30', MARKET_RATE_LIMIT: '60' };
  world = await startWorld({ on: sandbox, env });
});

const fields = 'limit remaining used queued cost resetAt upstreamResetAt windowSeconds';

interface Budgets {
  readonly links: Row;
  readonly market: Row;
}

describe('Query.rateLimit', () => {
  it('shows an untouched budget of both upstreams, the link API when none is named', async () => {
    const untouched = {
      used: 0,
      queued: 0,
      cost: 0,
      resetAt: null,
      upstreamResetAt: null,
      windowSeconds: 60,
    };
    expect(
      await world.data(
        `{ rateLimit { ${fields} } links: rateLimit(upstream: LINKS) { ${fields} } market: rateLimit(upstream: MARKET) { ${fields} } }`,
      ),
    ).toEqual({
      rateLimit: { limit: 30, remaining: 30, ...untouched },
      links: { limit: 30, remaining: 30, ...untouched },
      market: { limit: 60, remaining: 60, ...untouched },
    });
    expect(world.calls()).toEqual([]);
  });

  it.each(['first', 'last'])(
    'reports what the operation has spent when it stands %s in it',
    async (place) => {
      const budgets = `links: rateLimit { ${fields} } market: rateLimit(upstream: MARKET) { ${fields} }`;
      const rest = `account { id } users { plan { name } } channels(first: 2) { nodes { items { totalCount } } } seller { email }`;
      const { data, receipt } = await world.ask<Budgets>(
        place === 'first' ? `{ ${budgets} ${rest} }` : `{ ${rest} ${budgets} }`,
      );
      expect(world.calls()).toHaveLength(7);
      expect(data.links).toEqual({
        limit: 30,
        used: 6,
        remaining: 24,
        queued: 0,
        cost: 6,
        resetAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        upstreamResetAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        windowSeconds: 60,
      });
      expect(data.market).toMatchObject({ limit: 60, used: 1, remaining: 59, cost: 1 });
      expect(receipt.calls).toBe(7);
    },
  );

  it('costs an operation nothing for what another has spent', async () => {
    await world.data('{ account { id } plans { id } }');
    const { data, receipt } = await world.ask<{ rateLimit: Row; account: Row }>(
      '{ rateLimit { used cost } account { id } }',
    );
    expect(data.rateLimit).toEqual({ used: 2, cost: 0 });
    expect(receipt).toMatchObject({ calls: 0, saved: { cache: 1 } });
  });

  it('counts what others have spent on the same key, as the upstream’s headers report it', async () => {
    sandbox.links.spend(20);
    await world.data('{ account { id } }');
    const { rateLimit } = await world.data<{ rateLimit: Row }>('{ rateLimit { used remaining } }');
    expect(rateLimit).toEqual({ used: 21, remaining: 9 });
  });

  it('answers also while nothing can be spent', async () => {
    sandbox.links.spend(29);
    await world.data('{ account { id } }');
    const { data, errors, receipt } = await world.ask(
      '{ account { id } plans { id } rateLimit { remaining used cost } }',
      {},
      { prefer: 'wait=0' },
    );
    expect(data).toMatchObject({
      account: { id: expect.any(String) },
      plans: null,
      rateLimit: { remaining: 0, used: 30, cost: 0 },
    });
    expect(errors).toMatchObject([
      {
        path: ['plans'],
        extensions: {
          code: 'BUDGET_EXHAUSTED',
          upstream: 'LINKS',
          retryAfterMs: expect.any(Number),
          availableAt: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      },
    ]);
    expect(receipt.calls).toBe(0);
  });
});

describe('an operation', () => {
  it('that needs more calls than it may send spends nothing on the rows that do not fit', async () => {
    const small = await startSandbox({ limit: { requests: 4 } });
    const other = await startWorld({ on: small, env: { LINKS_RATE_LIMIT: '4' } });
    const { data, errors } = await other.ask<{ channels: { nodes: { items: Row | null }[] } }>(
      '{ channels(first: 10) { nodes { items { totalCount } } } }',
    );
    expect(data.channels.nodes.filter(({ items }) => items)).toEqual([]);
    expect(errors).toHaveLength(10);
    const [first, ...rest] = errors;
    expect(first?.extensions).toEqual({
      code: 'OPERATION_TOO_EXPENSIVE',
      upstream: 'LINKS',
      limit: 3,
      needed: 10,
      left: 2,
    });
    for (const { path, extensions } of rest) {
      expect(path).toEqual(['channels', 'nodes', expect.any(Number), 'items']);
      expect(extensions).toEqual({ code: 'OPERATION_TOO_EXPENSIVE', upstream: 'LINKS' });
    }
    expect(other.calls()).toHaveLength(1);
    await other.close();
    await small.close();
  });
});
