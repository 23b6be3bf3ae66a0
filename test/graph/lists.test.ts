import { beforeAll, describe, expect, it } from 'vitest';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';
import { everyRow, moment, plain } from './rest.ts';

/** A list of the link API: where it is there and here, and what a row there must look like here. */
interface ListCase {
  readonly field: string;
  readonly path: string;
  readonly key: string;
  readonly typename: string;
  readonly selection: string;
  readonly row: (row: Row) => Row;
}

const lists: readonly ListCase[] = [
  {
    field: 'domains',
    path: '/api/domains',
    key: 'domains',
    typename: 'BrandedDomain',
    selection: 'domain redirectRoot redirect404',
    row: ({ domain, redirectroot, redirect404 }) => ({
      domain,
      redirectRoot: redirectroot,
      redirect404,
    }),
  },
  {
    field: 'overlays',
    path: '/api/overlay',
    key: 'cta',
    typename: 'CtaOverlay',
    selection: 'type name date',
    row: ({ type, name, date }) => ({ type, name: plain(name), date: moment(date) }),
  },
  {
    field: 'campaigns',
    path: '/api/campaigns',
    key: 'campaigns',
    typename: 'Campaign',
    selection: 'name public rotatorUrl listUrl',
    row: (row) => ({
      name: plain(row['name']),
      public: row['public'],
      rotatorUrl: row['rotator'] || null,
      listUrl: row['list'],
    }),
  },
  {
    field: 'channels',
    path: '/api/channels',
    key: 'channels',
    typename: 'Channel',
    selection: 'name description color starred',
    row: ({ name, description, color, starred }) => ({
      name: plain(name),
      description: plain(description),
      color,
      starred,
    }),
  },
  {
    field: 'splashPages',
    path: '/api/splash',
    key: 'splash',
    typename: 'SplashPage',
    selection: 'name date',
    row: ({ name, date }) => ({ name: plain(name), date: moment(date) }),
  },
  {
    field: 'files',
    path: '/api/files',
    key: 'list',
    typename: 'File',
    selection: 'name downloads shortUrl date',
    row: ({ name, downloads, shorturl, date }) => ({
      name: plain(name),
      downloads,
      shortUrl: shorturl,
      date: moment(date),
    }),
  },
  {
    field: 'pixels',
    path: '/api/pixels',
    key: 'pixels',
    typename: 'Pixel',
    selection: 'type typeName name tag date',
    row: ({ type, name, tag, date }) => ({
      type: String(type)
        .replace(/pixel$/, '')
        .toUpperCase(),
      typeName: type,
      name: plain(name),
      tag,
      date: moment(date),
    }),
  },
  {
    field: 'qrCodes',
    path: '/api/qr',
    key: 'qrs',
    typename: 'QrCode',
    selection: 'link scans name date',
    row: ({ link, scans, name, date }) => ({ link, scans, name: plain(name), date: moment(date) }),
  },
];

let world: World;

beforeAll(async () => {
  world = await startWorld();
});

describe.each(lists)('Query.$field', ({ field, path, key, typename, selection, row }) => {
  it('answers every field of every row as the upstream has it, in its order', async () => {
    const rows = await everyRow(world, path, key);
    expect(rows.length).toBeGreaterThanOrEqual(20);
    const data = await world.data(
      `{ list: ${field}(first: 500) { totalCount nodes { __typename databaseId ${selection} } } }`,
    );
    expect(data['list']).toEqual({
      totalCount: rows.length,
      nodes: rows.map((each) => ({
        __typename: typename,
        databaseId: each['id'],
        ...row(each),
      })),
    });
  });

  it('answers 20 rows when no number is asked for, and says that more follow', async () => {
    const { list } = await world.data<{ list: Connection<Row> }>(
      `{ list: ${field} { edges { cursor node { databaseId } } nodes { databaseId }
          pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
    );
    const { edges } = list;
    expect(edges).toHaveLength(20);
    expect(list.nodes).toEqual(edges.map(({ node }) => node));
    expect(list.pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: edges[0]?.cursor,
      endCursor: edges[19]?.cursor,
    });
  });

  it('gives each row an id of its own, by which node finds it again', async () => {
    const { list } = await world.data<{ list: Connection<{ id: string }> }>(
      `{ list: ${field}(first: 500) { nodes { id } } }`,
    );
    const ids = list.nodes.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const some = [ids[0], ids[7], ids.at(-1)];
    const { nodes } = await world.data(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on ${typename} { databaseId ${selection} } } }`,
      { ids: some },
    );
    const rows = await everyRow(world, path, key);
    expect(nodes).toEqual(
      some.map((id) => {
        const each = rows[ids.indexOf(id ?? '')] as Row;
        return { __typename: typename, id, databaseId: each['id'], ...row(each) };
      }),
    );
  });
});

describe('Query.files', () => {
  it('hands a search to the upstream and answers what it finds', async () => {
    const everything = await everyRow(world, '/api/files', 'list');
    const word = String(everything[3]?.['name']).split(/\W+/)[0] ?? '';
    const { list } = await world.links<{ list: Row[] }>(`/api/files?name=${word}&limit=100`);
    expect(list.length).toBeGreaterThan(0);
    expect(list.length).toBeLessThan(everything.length);
    const { files } = await world.data(
      'query ($search: String) { files(search: $search) { totalCount nodes { databaseId } } }',
      { search: ` ${word} ` },
    );
    expect(files).toEqual({
      totalCount: list.length,
      nodes: list.map((row) => ({ databaseId: row['id'] })),
    });
  });

  it('takes a blank search for none', async () => {
    const { blank, none } = await world.data(
      '{ blank: files(search: "  ") { nodes { id } } none: files { nodes { id } } }',
    );
    expect(blank).toEqual(none);
  });

  it('answers an empty list when nothing is found', async () => {
    const { files } = await world.data(
      '{ files(search: "no file is called this") { totalCount nodes { id } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }',
    );
    expect(files).toEqual({
      totalCount: 0,
      nodes: [],
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });
});
