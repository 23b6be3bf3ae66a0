import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/gateway.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterEach(() => world.forgetCalls());

const globalId = (text: string): string => Buffer.from(text).toString('base64url');
const byIds = 'query ($ids: [ID!]!) { account { username } nodes(ids: $ids) { id } }';

describe('Query.nodes', () => {
  it.each([
    ['is not an ID of this graph', 'zzz'],
    ['is empty', ''],
    ['is the upstream’s integer, which says no type', '7'],
    ['is of a type that cannot be found by an id', globalId('LinkItem:7')],
    ['is of a type that the graph does not have', globalId('Nothing:7')],
    ['is of a type of GraphQL itself', globalId('Query:7')],
  ])('is null for an id that %s, with an error there, and answers all others', async (_, wrong) => {
    const { campaigns } = await world.data<{ campaigns: { nodes: { id: string }[] } }>(
      '{ campaigns(first: 2) { nodes { id } } }',
    );
    const [first, second] = campaigns.nodes;
    const { data, errors } = await world.ask(byIds, { ids: [first?.id, wrong, second?.id, wrong] });
    expect(data).toMatchObject({ account: {}, nodes: [first, null, second, null] });
    expect(errors).toMatchObject([
      { path: ['nodes', 1], extensions: { code: 'BAD_USER_INPUT' } },
      { path: ['nodes', 3], extensions: { code: 'BAD_USER_INPUT' } },
    ]);
  });

  it('takes 500 ids, each of which may be faulty', async () => {
    const { data, errors } = await world.ask(byIds, { ids: Array(500).fill('zzz') });
    expect(data).toMatchObject({ nodes: Array(500).fill(null) });
    expect(errors).toHaveLength(500);
  });

  it.each([
    ['in a variable', byIds, { ids: Array(501).fill(globalId('Channel:1')) }],
    ['written out', `{ nodes(ids: [${'"zzz" '.repeat(501)}]) { id } }`, {}],
    ['a default', `query ($i: [ID!]! = [${'"zzz" '.repeat(501)}]) { nodes(ids: $i) { id } }`, {}],
  ])('refuses 501 ids, %s, before anything is read', async (_, query, variables) => {
    const { status, data, errors } = await world.ask(query, variables);
    expect([status, data, errors[0]?.extensions?.code]).toEqual([400, undefined, 'BAD_USER_INPUT']);
    expect(errors[0]?.message).toContain('500');
    expect(world.calls()).toEqual([]);
  });

  it('looks for 5000 ids in an operation, and is told of no more', async () => {
    const ids = (count: number) =>
      Array.from({ length: count }, (_, n) => `a${n}: nodes(ids: $ids) { id }`).join(' ');
    const query = (count: number) => `query ($ids: [ID!]!) { ${ids(count)} }`;
    const variables = { ids: Array.from({ length: 500 }, () => globalId('Channel:1')) };
    expect((await world.ask(query(10), variables)).errors).toEqual([]);
    const { status, errors } = await world.ask(query(11), variables);
    expect([status, errors[0]?.extensions?.code]).toEqual([400, 'OPERATION_TOO_EXPENSIVE']);
    expect(errors[0]?.message).toMatch(/5500.*5000/);
  });

  it('gives up on an operation most of whose many ids are faulty', async () => {
    const fields = Array.from({ length: 10 }, (_, n) => `a${n}: nodes(ids: $ids) { id }`);
    const ids = Array(400).fill(globalId('Nothing:7'));
    const query = `query ($ids: [ID!]!) { ${fields.join(' ')} }`;
    const { data, errors, text } = await world.ask(query, { ids });
    expect(data).toBeNull();
    expect(new Set(errors.map(({ extensions }) => extensions?.code))).toEqual(
      new Set(['BAD_USER_INPUT']),
    );
    expect(errors.length).toBeLessThan(510);
    expect(text.length).toBeLessThan(200_000);
    expect(world.calls()).toEqual([]);
  });
});
