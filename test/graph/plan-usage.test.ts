import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import {
  type Connection,
  openSandbox,
  type Row,
  startWorld,
  type World,
} from '../support/gateway.ts';

let sandbox: Sandbox;
let world: World;
beforeAll(async () => {
  sandbox = await openSandbox();
});
beforeEach(async () => {
  sandbox.reset();
  world = await startWorld({ on: sandbox });
});

async function usersByPlan(): Promise<Map<unknown, unknown[]>> {
  const { data } = await world.links<{ data: Row[] }>('/api/users');
  const byPlan = new Map<unknown, unknown[]>();
  for (const { planid, username } of data) {
    byPlan.set(planid, [...(byPlan.get(planid) ?? []), username]);
  }
  return byPlan;
}

describe('Plan.users', () => {
  const query = `{ plans { databaseId userCount
    users(first: 500) { totalCount nodes { username } } } }`;

  it('are all users of each plan, at 2 calls for all plans', async () => {
    const expected = await usersByPlan();
    world.forgetCalls();
    const { plans } = await world.data<{
      plans: { databaseId: number; userCount: number; users: Connection<Row> }[];
    }>(query);
    expect(plans.length).toBeGreaterThan(2);
    expect(world.calls()).toEqual(['GET /api/plans', 'GET /api/users']);
    for (const { databaseId, userCount, users } of plans) {
      const names = expected.get(databaseId) ?? [];
      expect(users.nodes.map(({ username }) => username)).toEqual(names);
      expect([userCount, users.totalCount]).toEqual([names.length, names.length]);
    }
    expect(expected.size).toBeGreaterThan(1);
  });

  it('can be paged, and costs nothing beside the list of users', async () => {
    await world.data('{ users { id } plans { id } }');
    world.forgetCalls();
    const [[plan, names]] = [...(await usersByPlan())] as [[number, unknown[]]];
    const page = (after: string | null) =>
      world.data<{ plan: { users: Connection<Row> } }>(
        `query ($id: ID!, $after: String) { plan(id: $id) { users(first: 3, after: $after) {
          nodes { username } pageInfo { endCursor hasNextPage } } } }`,
        { id: String(plan), after },
      );
    const seen: unknown[] = [];
    for (let after: string | null = null, more = true; more; ) {
      const { users }: { users: Connection<Row> } = (await page(after)).plan;
      seen.push(...users.nodes.map(({ username }) => username));
      ({ endCursor: after, hasNextPage: more } = users.pageInfo);
    }
    expect(seen).toEqual(names);
    expect(world.calls()).toEqual([]);
  });

  it('shows at once who was moved to another plan', async () => {
    const { plans } = await world.data<{ plans: { databaseId: number; userCount: number }[] }>(
      '{ plans { databaseId userCount } }',
    );
    const [from, to] = plans.filter(({ userCount }) => userCount > 0);
    const { data } = await world.links<{ data: Row[] }>('/api/users');
    const user = data.find(({ planid }) => planid === from?.databaseId);
    const move = `mutation { subscribeUser(input: { planId: ${to?.databaseId}, userId: ${String(user?.['id'])}, type: MONTHLY }) {
      ... on User { plan { userCount } } } }`;
    const answer = await world.data<{ subscribeUser: { plan: Row } }>(move);
    expect(answer.subscribeUser.plan).toEqual({ userCount: (to?.userCount ?? 0) + 1 });
  });
});

describe('Account.plan and Account.usage', () => {
  const usage = '{ account { usage { feature used limit enabled } } }';

  it('are the plan of the account, and each limit beside what is used of it', async () => {
    const { data: account } = await world.links<{ data: Row }>('/api/account');
    const { data: user } = await world.links<{ data: Row }>(`/api/user/${String(account['id'])}`);
    const { data: plans } = await world.links<{ data: Row[] }>('/api/plans');
    const plan = plans.find(({ id }) => id === user['planid']);
    const limits = plan?.['limits'] as Record<string, { count?: string; enabled: string }> & Row;
    const totalOf = async (path: string) =>
      (await world.links<{ data: { result: number } }>(path)).data.result;
    const row = (feature: string, used: number | null) => ({
      feature: feature.toUpperCase(),
      used,
      limit: Number(limits[feature]?.count),
      enabled: limits[feature]?.enabled === '1',
    });
    expect(await world.data('{ account { plan { databaseId name } } }')).toEqual({
      account: { plan: { databaseId: plan?.['id'], name: plan?.['name'] } },
    });
    expect(await world.data(usage)).toEqual({
      account: {
        usage: [
          { feature: 'LINKS', used: null, limit: limits['links'], enabled: null },
          { feature: 'CLICKS', used: null, limit: limits['clicks'], enabled: null },
          row('team', null),
          row('splash', await totalOf('/api/splash')),
          row('overlay', await totalOf('/api/overlay')),
          row('pixels', await totalOf('/api/pixels')),
          row('domain', await totalOf('/api/domains')),
        ],
      },
    });
  });

  it.each([
    ['{ account { plan { name } } }', 3],
    ['{ account { usage { feature limit } } }', 3],
    [usage, 7],
    ['{ account { username } }', 1],
  ])('cost what is selected of them: %s', async (query, calls) => {
    const { receipt } = await world.ask(query);
    expect(receipt.calls).toBe(calls);
    expect((await world.ask(query)).receipt.calls).toBe(0);
  });

  it('fail with UPSTREAM_FORBIDDEN where the key is not that of an administrator', async () => {
    const { data } = await world.links<{ data: { status: string; apikey: string }[] }>(
      '/api/users?filter=free',
    );
    const other = await startWorld({
      on: sandbox,
      env: { LINKS_API_KEY: data[0]?.apikey ?? '' },
    });
    const answer = await other.ask('{ account { username plan { name } usage { used } } }');
    expect(answer.data).toMatchObject({
      account: { username: expect.any(String), plan: null, usage: null },
    });
    expect(answer.errors).toMatchObject(
      ['plan', 'usage'].map((field) => ({
        path: ['account', field],
        message: expect.stringContaining('lacks the permission'),
        extensions: { code: 'UPSTREAM_FORBIDDEN' },
      })),
    );
  });

  it.each<[string, string, (body: { data: never }) => unknown, unknown]>([
    ['no plan', '/api/user/*', (body) => without(body.data, 'planid'), { plan: null, usage: null }],
    [
      'no limits',
      '/api/plans',
      (body) => (body.data as Row[]).map((row) => without(row, 'limits')),
      {
        plan: { limits: null },
        usage: Array.from({ length: 7 }, () => ({ limit: null, enabled: null })),
      },
    ],
    ['no such plan', '/api/plans', () => [], { plan: null, usage: null }],
  ])('say so where an installation sends %s', async (_, path, rewrite, account) => {
    sandbox.links.fault({
      kind: 'answer',
      path,
      rewrite: (answer) => ({ ...answer, body: { error: 0, data: rewrite(answer.body as never) } }),
    });
    expect(
      await world.data('{ account { plan { limits { links } } usage { limit enabled } } }'),
    ).toEqual({ account });
  });
});

function without(row: Row, name: string): Row {
  const { [name]: _, ...rest } = row;
  return rest;
}
