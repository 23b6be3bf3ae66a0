import { beforeAll, describe, expect, it } from 'vitest';
import { type Connection, startWorld, type World } from '../../support/gateway.ts';

/** Every connection of the graph, and views of some: a field with its parents, around the arguments of a window. */
const fields: Readonly<Record<string, (window: string) => string>> = {
  domains: (window) => `list: domains(${window}) PAGE`,
  overlays: (window) => `list: overlays(${window}) PAGE`,
  campaigns: (window) => `list: campaigns(${window}) PAGE`,
  channels: (window) => `list: channels(${window}) PAGE`,
  'channels by name': (window) => `list: channels(orderBy: {field: NAME} ${window}) PAGE`,
  'channels by name, descending': (window) =>
    `list: channels(orderBy: {field: NAME, direction: DESC} ${window}) PAGE`,
  'channels by id': (window) => `list: channels(orderBy: {field: ID} ${window}) PAGE`,
  'starred channels': (window) => `list: channels(starred: true ${window}) PAGE`,
  'other channels': (window) => `list: channels(starred: false ${window}) PAGE`,
  'channels with an e': (window) => `list: channels(search: "e" ${window}) PAGE`,
  'channels with an a': (window) => `list: channels(search: "a" ${window}) PAGE`,
  'items of a channel': (window) =>
    `parent: channel(id: ${channels[0]}) { list: items(${window}) PAGE }`,
  'items of another channel': (window) =>
    `parent: channel(id: ${channels[1]}) { list: items(${window}) PAGE }`,
  splashPages: (window) => `list: splashPages(${window}) PAGE`,
  files: (window) => `list: files(${window}) PAGE`,
  'files that the API finds': (window) => `list: files(search: "a" ${window}) PAGE`,
  pixels: (window) => `list: pixels(${window}) PAGE`,
  qrCodes: (window) => `list: qrCodes(${window}) PAGE`,
  'users of a plan': (window) => `parents: plans { list: users(${window}) PAGE }`,
  'items of the marketplace': (window) => `list: items(${window}) PAGE`,
  jobs: (window) => `list: jobs(${window}) PAGE`,
};

const PAGE =
  '{ totalCount edges { cursor node { __typename } } pageInfo { startCursor endCursor } }';

let world: World;
/** Two that have items. */
let channels: number[] = [];

beforeAll(async () => {
  world = await startWorld();
  const { list } = await world.data<{
    list: Connection<{ databaseId: number; items: Connection<unknown> }>;
  }>('{ list: channels { nodes { databaseId items { totalCount } } } }');
  const full = list.nodes.filter(({ items }) => (items.totalCount ?? 0) > 1);
  channels = full.map(({ databaseId }) => databaseId);
  // The parents of lists are read first.
  for (const field of Object.keys(fields)) await world.ask(query(field, 'first: 1'));
});

const query = (field: string, window: string) =>
  `{ ${fields[field]?.(window)} }`.replace('PAGE', PAGE);

/** A cursor in the middle of a list. */
async function cursorOf(field: string): Promise<string> {
  interface Found {
    readonly list: Connection<unknown>;
  }
  const { list, parent, parents } = await world.data<
    Found & { parent?: Found; parents?: readonly Found[] }
  >(query(field, 'first: 3'));
  const lists = [list, parent?.list, ...(parents ?? []).map((each) => each.list)];
  const edges = lists.find((each) => (each?.edges.length ?? 0) > 0)?.edges ?? [];
  return edges.at(1)?.cursor ?? edges[0]?.cursor ?? '';
}

describe.each(Object.keys(fields).filter((field) => field !== 'jobs'))('A cursor of %s', (own) => {
  it('is refused by every other list, without an upstream request', async () => {
    const cursor = await cursorOf(own);
    expect(cursor).not.toBe('');
    world.forgetCalls();
    for (const [at, other] of Object.keys(fields).entries()) {
      if (other === own) continue;
      const { errors } = await world.ask(
        query(other, `${at % 2 ? 'after' : 'before'}: "${cursor}"`),
      );
      expect(errors.length, other).toBeGreaterThan(0);
      for (const { extensions } of errors) expect(extensions?.code, other).toBe('BAD_USER_INPUT');
    }
    expect(world.calls()).toEqual([]);
  });

  it('is accepted by its own list', async () => {
    if (own === 'users of a plan') return;
    const cursor = await cursorOf(own);
    expect((await world.ask(query(own, `after: "${cursor}"`))).errors).toEqual([]);
  });
});

describe('A cursor', () => {
  const channel = Buffer.from('Channel:21').toString('base64url');

  it.each([
    ['list: channels(search: "  A " WINDOW) PAGE', 'list: channels(search: "a" WINDOW) PAGE'],
    ['list: channels(search: " " WINDOW) PAGE', 'list: channels(search: null WINDOW) PAGE'],
    [
      'list: channels(orderBy: {field: NAME} WINDOW) PAGE',
      'list: channels(orderBy: {direction: ASC, field: NAME} WINDOW) PAGE',
    ],
    ['list: files(search: " a " WINDOW) PAGE', 'list: files(search: "a" WINDOW) PAGE'],
    [
      `list: node(id: "${channel}") { ... on Channel { items(WINDOW) PAGE } }`,
      'parent: channel(id: 21) { items(WINDOW) PAGE }',
    ],
  ])('of { %s } is one of { %s }', async (one, other) => {
    const page = (text: string, window: string) =>
      `{ ${text.replace('WINDOW', window).replace('PAGE', PAGE)} }`;
    const { list } = await world.data<{
      list: Connection<unknown> & { items?: Connection<unknown> };
    }>(page(one, 'first: 1'));
    const cursor = (list.items ?? list).edges[0]?.cursor;
    expect((await world.ask(page(other, `after: "${cursor}"`))).errors).toEqual([]);
  });
});
