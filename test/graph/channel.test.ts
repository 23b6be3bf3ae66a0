import { beforeAll, describe, expect, it } from 'vitest';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';
import { everyRow, moment, plain } from './rest.ts';

let world: World;
let channels: readonly Row[];

beforeAll(async () => {
  world = await startWorld();
  channels = await everyRow(world, '/api/channels', 'channels');
});

const typenames: Readonly<Record<string, string>> = {
  links: 'LinkItem',
  bio: 'BioItem',
  qr: 'QrItem',
};

/** A channel item as the graph must answer it. */
function entry({ type, id, title, preview, link, date }: Row): Row {
  return {
    __typename: typenames[String(type)],
    type: String(type).toUpperCase(),
    databaseId: id,
    title: plain(title),
    preview,
    link,
    date,
  };
}

async function itemsOf(channel: Row | undefined): Promise<Row[]> {
  return everyRow(world, `/api/channel/${String(channel?.['id'])}`, 'items');
}

const common = 'type databaseId title preview link date';

describe('Channel.items', () => {
  it('answers every item of every channel, of all three kinds, in the upstream’s order', async () => {
    const answer = await world.data<{ channels: { nodes: { items: Connection<Row> }[] } }>(
      `{ channels(first: 50) { nodes { items(first: 500) {
          totalCount nodes { __typename ... on ChannelEntry { ${common} } } } } } }`,
    );
    const expected = await Promise.all(
      channels.map(async (channel) => (await itemsOf(channel)).map(entry)),
    );
    expect(answer.channels.nodes.map(({ items }) => items.nodes)).toEqual(expected);
    expect(answer.channels.nodes.map(({ items }) => items.totalCount)).toEqual(
      expected.map(({ length }) => length),
    );
    expect(new Set(expected.flat().map(({ __typename }) => __typename)).size).toBe(3);
  });

  it('answers the same fields on each member of the union as on the interface', async () => {
    const { channels: all } = await world.data<{
      channels: { nodes: { items: Row; same: Row }[] };
    }>(
      `{ channels(first: 50) { nodes {
          items(first: 500) { nodes { __typename ... on ChannelEntry { ${common} } } }
          same: items(first: 500) { nodes { __typename
            ... on LinkItem { ${common} } ... on BioItem { ${common} } ... on QrItem { ${common} } } } } } }`,
    );
    for (const { items, same } of all.nodes) expect(same).toEqual(items);
  });

  it('is an empty list for a channel that holds nothing', async () => {
    const drafts = channels.find(({ name }) => name === 'Drafts');
    const { channel } = await world.data(
      'query ($id: ID!) { channel(id: $id) { name items { totalCount nodes { __typename } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }',
      { id: String(drafts?.['id']) },
    );
    expect(channel).toEqual({
      name: 'Drafts',
      items: {
        totalCount: 0,
        nodes: [],
        pageInfo: {
          hasNextPage: false,
          hasPreviousPage: false,
          startCursor: null,
          endCursor: null,
        },
      },
    });
  });

  it('keeps apart items of different kinds that have the same id', async () => {
    const other = await startWorld({ on: world.sandbox });
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      path: /^\/api\/channel\/\d+$/,
      rewrite: (answer) => {
        const { data } = answer.body as { data: Record<string, unknown> };
        const item = { title: 'x', preview: null, link: null, date: '2025-03-01' };
        Object.assign(data, { result: 3, nextpage: null, maxpage: 1 });
        data['items'] = ['links', 'bio', 'qr'].map((type) => ({ ...item, type, id: 7 }));
        return answer;
      },
    });
    const query = `query ($id: ID!, $after: String, $before: String) {
      channel(id: $id) {
        all: items { nodes { ...Kind } edges { cursor } }
        back: items(last: 500) { nodes { ...Kind } }
        rest: items(after: $after) { nodes { ...Kind } }
        start: items(before: $before) { nodes { ...Kind } }
      }
    }
    fragment Kind on ChannelItem { ... on ChannelEntry { type } }`;
    interface Kinds {
      readonly channel: Record<'all' | 'back' | 'rest' | 'start', Connection<{ type: string }>>;
    }
    const id = String(channels[0]?.['id']);
    const { channel: whole } = await other.data<Kinds>(query, { id });
    const cursor = whole.all.edges[1]?.cursor;
    const { channel } = await other.data<Kinds>(query, { id, after: cursor, before: cursor });
    restore();
    const types = ({ nodes }: Connection<{ type: string }>) => nodes.map(({ type }) => type);
    expect(types(channel.all)).toEqual(['LINKS', 'BIO', 'QR']);
    expect(types(channel.back)).toEqual(['LINKS', 'BIO', 'QR']);
    expect(types(channel.rest)).toEqual(['QR']);
    expect(types(channel.start)).toEqual(['LINKS']);
  });
});

describe('QrItem.qrCode', () => {
  it('answers the QR code that stands in the channel', async () => {
    const codes = await everyRow(world, '/api/qr', 'qrs');
    const packaging = channels.find(({ name }) => name === 'Packaging codes');
    const { channel } = await world.data<{ channel: { items: Connection<Row> } }>(
      `query ($id: ID!) { channel(id: $id) { items(first: 100) { nodes {
          ... on QrItem { databaseId qrCode { databaseId name scans link date } } } } } }`,
      { id: String(packaging?.['id']) },
    );
    expect(channel.items.nodes.length).toBeGreaterThan(20);
    for (const { databaseId, qrCode } of channel.items.nodes) {
      const code = codes.find(({ id }) => id === databaseId) ?? {};
      const { id, name, scans, link, date } = code;
      expect(qrCode).toEqual({
        databaseId: id,
        name: plain(name),
        scans,
        link,
        date: moment(date),
      });
    }
  });
});
