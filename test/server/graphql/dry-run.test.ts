import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { OperationPlan } from '../../../src/upstream/dry-run.ts';
import { startWorld, type World } from '../../support/gateway.ts';

const DASHBOARD = `{
  account { username }
  channels(first: 10) { nodes { name items(first: 5) { nodes { __typename } } } }
}`;

describe('A dry run', () => {
  const worlds: World[] = [];
  let world: World;

  beforeEach(async () => {
    world = await startWorld();
    worlds.push(world);
  });
  afterAll(() => Promise.all(worlds.map((each) => each.close())));

  async function plan(query: string): Promise<OperationPlan> {
    world.forgetCalls();
    const response = await world.gateway.fetch(
      new Request('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-gateway-dry-run': '1' },
        body: JSON.stringify({ query }),
      }),
    );
    const { data, errors, extensions } = (await response.json()) as {
      data: unknown;
      errors?: unknown;
      extensions: { plan: OperationPlan };
    };
    expect({ data, errors, sent: world.calls() }).toEqual({
      data: null,
      errors: undefined,
      sent: [],
    });
    return extensions.plan;
  }

  /** What the same operation costs when it is meant. */
  async function price(query: string): Promise<number> {
    return (await world.ask(query)).receipt.calls;
  }

  it('sends nothing, and says what the operation would cost', async () => {
    expect(await plan('{ account { username } seller { username } }')).toEqual({
      calls: 2,
      callsByUpstream: { LINKS: 1, MARKET: 1 },
      saved: { cache: 0, coalesced: 0 },
      exact: true,
    });
  });

  it('reckons with as many rows as are asked for where it does not know them', async () => {
    const cold = await plan(DASHBOARD);
    expect(cold).toMatchObject({ calls: 12, exact: false });
    expect(await price(DASHBOARD)).toBe(cold.calls);
  });

  it('is exact about what follows from kept rows', async () => {
    await price('{ channels(first: 1) { nodes { id } } }');
    expect(await plan(DASHBOARD)).toMatchObject({ calls: 11, saved: { cache: 1 }, exact: true });
    await price(DASHBOARD);
    expect(await plan(DASHBOARD)).toMatchObject({ calls: 0, saved: { cache: 12 }, exact: true });
  });

  it.each([
    ['users with their plans', '{ users { username plan { name } } }'],
    [
      'the QR codes of a channel',
      '{ channel(id: 99) { items(first: 20) { nodes { ... on QrItem { qrCode { scans } } } } } }',
    ],
    ['one QR code with its statistics', '{ qrCode(id: 1) { name statistics { clicks } } }'],
    ['one campaign', '{ campaign(id: 53) { name } }'],
    ['one channel and its items', '{ channel(id: 99) { name items(first: 5) { totalCount } } }'],
    ['the end of a list', '{ channels(last: 3) { nodes { name } } }'],
    ['more than one page', '{ channel(id: 104) { items(first: 120) { totalCount } } }'],
    ['a write', 'mutation { createCampaign(input: { name: "Dry" }) { __typename } }'],
  ])('prices %s as it will cost', async (_what, query) => {
    const { calls } = await plan(query);
    expect(await price(query)).toBe(calls);
  });

  it('still complains about the request itself', async () => {
    const response = await world.gateway.fetch(
      new Request('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-gateway-dry-run': '1' },
        body: JSON.stringify({ query: '{ channels(first: -1) { totalCount } }' }),
      }),
    );
    const { errors } = (await response.json()) as { errors: { extensions: { code: string } }[] };
    expect(errors.map(({ extensions }) => extensions.code)).toEqual(['BAD_USER_INPUT']);
  });
});
