import { getNamedType, isListType, isObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { schema } from '../../src/schema.ts';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});

/** Every field of Query that lists objects, and whether it does so as a connection. */
function lists(): { field: string; paged: boolean }[] {
  return Object.values(schema.getQueryType()?.getFields() ?? {})
    .filter(({ args }) => args.every(({ type }) => !String(type).endsWith('!')))
    .flatMap(({ name, type }) => {
      const paged = getNamedType(type).name.endsWith('Connection');
      return paged || isListType(type) ? [{ field: name, paged }] : [];
    });
}

/** Every row of a connection, as `selection` shows it, read with as many operations as it has windows. */
async function everyNode(
  ask: (window: string) => Promise<Connection<Row> | null>,
): Promise<readonly Row[]> {
  const nodes: Row[] = [];
  let after = '';
  for (;;) {
    const window = await ask(`first: 500${after}`);
    if (!window) return nodes;
    nodes.push(...window.nodes);
    if (!window.pageInfo.hasNextPage) return nodes;
    after = `, after: ${JSON.stringify(window.pageInfo.endCursor)}`;
  }
}

const page = 'pageInfo { hasNextPage endCursor }';

describe('A global id', () => {
  it('is that of one row only, over every list of the sandbox', async () => {
    const seen = new Map<unknown, string[]>();
    const note = (field: string, rows: readonly Row[]) => {
      expect(rows.length, field).toBeGreaterThan(1);
      for (const { id } of rows) {
        expect(id).toEqual(expect.any(String));
        seen.set(id, [...(seen.get(id) ?? []), field]);
      }
    };
    const start =
      'startExport(input: { query: "{ channels { nodes { id } } }", startAt: "2099-01-01T00:00:00Z" })';
    await world.data(`mutation { a: ${start} { __typename } b: ${start} { __typename } }`);
    expect(lists().length).toBeGreaterThan(10);
    for (const { field, paged } of lists()) {
      if (paged) {
        const rows = await everyNode(
          async (window) =>
            (
              await world.data<{ list: Connection<Row> }>(
                `{ list: ${field}(${window}) { nodes { id } ${page} } }`,
              )
            ).list,
        );
        note(field, rows);
      } else {
        note(field, (await world.data<{ list: Row[] }>(`{ list: ${field} { id } }`)).list);
      }
    }
    expect(seen.size).toBeGreaterThan(300);
    expect([...seen].filter(([, fields]) => fields.length > 1)).toEqual([]);
  });

  it('of a channel item is the same in every channel, and of one thing only', async () => {
    const channels = await everyNode(
      async (window) =>
        (
          await world.data<{ list: Connection<Row> }>(
            `{ list: channels(${window}) { nodes { id } ${page} } }`,
          )
        ).list,
    );
    const things = new Map<unknown, Set<string>>();
    const kinds = new Set<string>();
    for (const { id } of channels) {
      const items = await everyNode(
        async (window) =>
          (
            await world.data<{ channel: { items: Connection<Row> | null } }>(
              `{ channel(id: "${String(id)}") { items(${window}) { nodes {
                __typename ... on ChannelEntry { id type databaseId title link date } } ${page} } } }`,
            )
          ).channel.items,
      );
      for (const { id: itemId, ...thing } of items) {
        kinds.add(String(thing['__typename']));
        things.set(itemId, (things.get(itemId) ?? new Set()).add(JSON.stringify(thing)));
      }
    }
    expect(kinds).toEqual(new Set(['BioItem', 'LinkItem', 'QrItem']));
    expect(things.size).toBeGreaterThan(50);
    expect([...things].filter(([, different]) => different.size > 1)).toEqual([]);
    const rows = new Set([...things.values()].flatMap((each) => [...each]));
    expect(rows.size).toBe(things.size);
  });

  it('of a channel item is no id that `node` takes, and says so', async () => {
    const { channels } = await world.data<{ channels: Connection<{ items: Connection<Row> }> }>(
      '{ channels(first: 1) { nodes { items(first: 1) { nodes { ... on ChannelEntry { id } } } } } }',
    );
    const id = channels.nodes[0]?.items.nodes[0]?.['id'];
    const { errors } = await world.ask('query ($id: ID!) { node(id: $id) { id } }', { id });
    expect(errors[0]).toMatchObject({
      message: expect.stringMatching(/cannot be looked up by ID/),
      extensions: { code: 'BAD_USER_INPUT' },
    });
  });

  it('is implemented by every object that lists show', () => {
    for (const { field } of lists()) {
      const named = getNamedType(schema.getQueryType()?.getFields()[field]?.type);
      const node = isObjectType(named) && named.getFields()['nodes'];
      const row = node ? getNamedType(node.type) : named;
      expect(isObjectType(row) && String(row.getFields()['id']?.type), field).toBe('ID!');
    }
  });
});
