import { beforeEach, describe, expect, it } from 'vitest';
import type { Row, World } from '../../support/gateway.ts';
import { Stage } from './story.ts';

const stage = new Stage();
let world: World;
beforeEach(() => {
  world = stage.world;
});

/** An update of each kind, the query that caches the state before it, and what of that state is asked for. */
const updates = [
  ['Account', 'account', 'updateAccount(input: { password: "rye bread" })', 'email'],
  [
    'BrandedDomain',
    'domain',
    'updateDomain(input: { id: ID, redirectRoot: "https://new.example" })',
    'redirectRoot redirect404',
  ],
  [
    'Campaign',
    'campaign',
    'updateCampaign(input: { id: ID, name: "New", slug: "new-slug" })',
    'name public slug',
  ],
  [
    'Channel',
    'channel',
    'updateChannel(input: { id: ID, name: "New" })',
    'name description color starred',
  ],
  ['Pixel', 'pixel', 'updatePixel(input: { id: ID, name: "New", tag: "T-1" })', 'name tag'],
  [
    'QrCode',
    'qrCode',
    'updateQrCode(input: { id: ID, type: TEXT, data: { value: "x" } })',
    'link scans',
  ],
  [
    'User',
    'user',
    'subscribeUser(input: { userId: ID, planId: 2, type: MONTHLY })',
    'planId status expiresAt',
  ],
] as const;

/** The id of the last row of a list of the sandbox, and a query that reads it as the graph shows it. */
async function rowOf(field: string, fields: string): Promise<{ id: string; before: Row }> {
  const lists: Record<string, string> = { user: 'users { id }', account: 'account { id }' };
  const list = lists[field] ?? `${field}s(last: 1) { nodes { id } }`;
  const other = await stage.open();
  const { list: found } = await other.data<{ list: unknown }>(`{ list: ${list} }`);
  const rows = (found as { nodes?: Row[] }).nodes ?? [found].flat();
  const id = String((rows.at(-1) as Row)['id']);
  const query =
    field === 'account'
      ? `{ row: account { ${fields} } }`
      : `{ row: ${field}(id: "${id}") { ${fields} } }`;
  const { row } = await world.data<{ row: Row }>(query);
  return { id, before: row };
}

describe.each(updates)('%s.previous', (typename, field, update, fields) => {
  const mutation = (id: string) =>
    `mutation { updated: ${update.replace('ID', `"${id}"`)} {
      __typename ... on ${typename} { previous { ${fields} } } } }`;

  it('is the state before an update where that was cached, at no further call', async () => {
    const { id, before } = await rowOf(field, fields);
    world.forgetCalls();
    const { updated } = await world.data<{ updated: Row }>(mutation(id));
    expect(updated).toEqual({ __typename: typename, previous: before });
    expect(world.calls()).toHaveLength(1);
  });

  it('is null where that was not cached, and for an object that was only read', async () => {
    const { id } = await rowOf(field, fields);
    const other = await stage.open();
    other.forgetCalls();
    const { updated } = await other.data<{ updated: Row }>(mutation(id));
    expect(updated).toEqual({ __typename: typename, previous: null });
    expect(other.calls()).toHaveLength(1);
    const read = `query ($id: ID!) { node(id: $id) { ... on ${typename} { previous { ${fields} } } } }`;
    expect(await world.data(read, { id })).toEqual({ node: { previous: null } });
  });
});

describe('The state before an update', () => {
  const rename = (name: string) =>
    `updateChannel(input: { id: 21, name: "${name}" }) { ... on Channel { name previous { name } } }`;

  it('is not one that another write has made wrong', async () => {
    await world.data('{ channel(id: 21) { name } }');
    const query = `mutation { a: ${rename('A')} b: ${rename('B')} }`;
    const { a, b } = await world.data<Record<'a' | 'b', Row>>(query);
    expect(a).toEqual({ name: 'A', previous: { name: expect.any(String) } });
    expect(b).toEqual({ name: 'B', previous: null });
  });

  it('is not one that a write in flight at the same time has made wrong', async () => {
    await world.data('{ channel(id: 21) { name } }');
    const results = await Promise.all(
      ['A', 'B'].map((name) => world.data<{ updateChannel: Row }>(`mutation { ${rename(name)} }`)),
    );
    const known = results.filter(({ updateChannel }) => updateChannel['previous'] !== null);
    expect(known).toHaveLength(1);
  });

  it('is not shown for an update that was rejected', async () => {
    await world.data('{ channels(first: 1) { totalCount } }');
    const { updated } = await world.data<{ updated: Row }>(
      `mutation { updated: updateChannel(input: { id: 999999, name: "x" }) {
        __typename ... on Channel { previous { name } } } }`,
    );
    expect(updated).toEqual({ __typename: 'Rejected' });
  });

  it('costs nothing in a dry run either', async () => {
    const query = `mutation { ${rename('A')} }`;
    const { text } = await world.ask(query, {}, { 'x-gateway-dry-run': '1' });
    expect(JSON.parse(text)).toMatchObject({ extensions: { plan: { calls: 1, exact: true } } });
  });
});
