import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Connection, startWorld, type World } from '../../../support/gateway.ts';
import { CodeList, UNCACHED, windowOf } from './code-list.ts';

describe('An order', () => {
  let list: CodeList;
  let world: World;

  beforeAll(async () => {
    list = await CodeList.start();
  });
  afterAll(() => list[Symbol.asyncDispose]());
  beforeEach(async () => {
    Object.assign(list, { clamp: 2, tells: true });
    world = await list.world({});
  });

  const named = (...names: readonly (string | null)[]) => {
    list.rows = names.map((name, n) => ({ id: n + 1, name, scans: null, date: null }));
  };
  const sorted = async (field: string, direction: string) => {
    const query = `{ qrCodes(orderBy: { field: ${field}, direction: ${direction} }) { nodes { name } } }`;
    const { qrCodes } = await world.data<{ qrCodes: Connection<{ name: string }> }>(query);
    return qrCodes.nodes.map(({ name }) => name);
  };

  it('of texts ignores case and accents, in both directions', async () => {
    named('zebra', 'Éclair', 'apple', 'Zoo', 'eclipse', 'Ärger');
    const names = ['apple', 'Ärger', 'Éclair', 'eclipse', 'zebra', 'Zoo'];
    expect(await sorted('NAME', 'ASC')).toEqual(names);
    expect(await sorted('NAME', 'DESC')).toEqual(names.toReversed());
  });

  it('has null last in both directions, and equal values as the API has them', async () => {
    named('b', null, 'A', 'B', 'a');
    expect(await sorted('NAME', 'ASC')).toEqual(['A', 'a', 'b', 'B', null]);
    expect(await sorted('NAME', 'DESC')).toEqual(['b', 'B', 'A', 'a', null]);
  });

  it('shows a row once that is on two pages', async () => {
    named('a', 'b', 'c', 'd', 'e');
    list.rows = [1, 2, 2, 3, 4].map((id) => ({ id, name: `${id}`, scans: 9 - id, date: null }));
    const view = { orderBy: { field: 'SCANS' } };
    expect(await windowOf(world, view)).toMatchObject({ ids: [4, 3, 2, 1], total: 4 });
  });

  it('goes on behind the value of an item that has another one by now', async () => {
    await world.close();
    world = await list.world(UNCACHED);
    list.rows = [1, 2, 3, 4, 5].map((id) => ({ id, name: null, scans: id * 10, date: null }));
    const view = { orderBy: { field: 'SCANS', direction: 'ASC' } };
    const { endCursor } = await windowOf(world, { ...view, first: 2 });
    list.rows = list.rows.map((row) => (row.id === 2 ? { ...row, scans: 1000 } : row));
    expect((await windowOf(world, { ...view, after: endCursor })).ids).toEqual([3, 4, 5, 2]);
  });
});

describe('A cursor of a sorted list', () => {
  it.each([
    { direction: 'ASC', value: 30, next: [2, 3, 4, 1] },
    { direction: 'DESC', value: 70, next: [2, 3, 4, 1] },
  ])('is not at the place of an item that has its value by now: $direction', async (each) => {
    await using list = await CodeList.start();
    const world = await list.world(UNCACHED);
    const scans = (...all: readonly number[]) => {
      list.rows = all.map((value, n) => ({ id: n + 1, name: null, scans: value, date: null }));
    };
    // The last of them comes first.
    scans(50, 50, 50, each.value);
    const view = { orderBy: { field: 'SCANS', direction: each.direction } };
    const { endCursor, ids } = await windowOf(world, { ...view, first: 2 });
    expect(ids).toEqual([4, 1]);
    scans(100 - each.value, 50, 50, 50);
    const { ids: next } = await windowOf(world, { ...view, after: endCursor });
    await world.close();
    expect(next).toEqual(each.next);
  });
});

describe('Filters of each list', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });

  type Node = Readonly<Record<string, unknown>>;
  const nodesOf = async (field: string, args: string, selection: string): Promise<Node[]> => {
    const { list } = await world.data<{ list: { totalCount: number; nodes: Node[] } }>(
      `{ list: ${field}(first: 500${args && `, ${args}`}) { totalCount nodes { databaseId ${selection} } } }`,
    );
    expect(list.totalCount).toBe(list.nodes.length);
    return list.nodes;
  };
  const has = (text: string) => (values: readonly unknown[]) =>
    values.some((value) => (typeof value === 'string' ? value : '').toLowerCase().includes(text));

  it.each<[string, string, string, (row: Node) => boolean]>([
    ['channels', 'starred: true', 'starred', ({ starred }) => starred === true],
    ['channels', 'starred: false', 'starred', ({ starred }) => starred === false],
    ['campaigns', 'public: true', 'public', (row) => row['public'] === true],
    ['campaigns', 'hasRotator: true', 'rotatorUrl', ({ rotatorUrl }) => rotatorUrl !== null],
    ['campaigns', 'hasRotator: false', 'rotatorUrl', ({ rotatorUrl }) => rotatorUrl === null],
    ['pixels', 'type: GA', 'type', ({ type }) => type === 'GA'],
    ['overlays', 'type: " MESSAGE "', 'type', ({ type }) => type === 'message'],
    [
      'domains',
      'search: "go"',
      'domain redirectRoot redirect404',
      (row) => has('go')([row['domain'], row['redirectRoot'], row['redirect404']]),
    ],
    [
      'qrCodes',
      'search: "S M"',
      'name link',
      ({ name, link }) => has('s')([name, link]) && has('m')([name, link]),
    ],
    ['splashPages', 'search: "a"', 'name', ({ name }) => has('a')([name])],
    [
      'items',
      'minPrice: 20, maxPrice: 40',
      'price { regular }',
      ({ price }) => {
        const { regular } = (price ?? {}) as { regular?: number | null };
        return regular != null && regular >= 20 && regular <= 40;
      },
    ],
    [
      'items',
      'kind: AUDIO',
      'media { kind }',
      ({ media }) => (media as Node | null)?.['kind'] === 'AUDIO',
    ],
  ])('%s(%s)', async (field, args, selection, test) => {
    const all = await nodesOf(field, '', selection);
    const found = await nodesOf(field, args, selection);
    expect(found).toEqual(all.filter(test));
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThan(all.length);
  });

  it.each<[string, string, string]>([
    ['overlays', 'createdAt', 'date'],
    ['splashPages', 'createdAt', 'date'],
    ['files', 'createdAt', 'date'],
    ['pixels', 'createdAt', 'date'],
    ['qrCodes', 'createdAt', 'date'],
    ['items', 'publishedAt', 'publishedAt'],
  ])('%s(%s:) includes both ends', async (field, filter, member) => {
    const all = await nodesOf(field, '', member);
    const dates = all.map((row) => row[member] as string).sort();
    const [from = '', to = ''] = [dates[3], dates.at(-4)];
    const inside = all.filter(
      (row) => (row[member] as string) >= from && (row[member] as string) <= to,
    );
    const range = `${filter}: { from: "${from}", to: "${to}" }`;
    expect(await nodesOf(field, range, member)).toEqual(inside);
    expect(inside.length).toBeLessThan(all.length);
    expect(await nodesOf(field, `${filter}: {}`, member)).toEqual(all);
  });

  it('apply to the items of a channel', async () => {
    const query = (args: string) =>
      `{ channel(id: 104) { items(first: 500${args}) { totalCount nodes { ... on ChannelEntry { type title date } } } } }`;
    const itemsOf = async (args: string) => {
      const { channel } = await world.data<{ channel: { items: { nodes: Node[] } } }>(query(args));
      return channel.items.nodes;
    };
    const all = await itemsOf('');
    for (const type of ['LINKS', 'BIO', 'QR']) {
      expect(await itemsOf(`, type: ${type}`)).toEqual(all.filter((row) => row['type'] === type));
    }
    const days = all.map(({ date }) => date as string).sort();
    const [from = '', to = ''] = [days[2], days.at(-3)];
    expect(await itemsOf(`, createdAt: { from: "${from}", to: "${to}" }`)).toEqual(
      all.filter(({ date }) => String(date) >= from && String(date) <= to),
    );
    const titles = await itemsOf(', orderBy: { field: TITLE, direction: DESC }');
    expect(titles).toHaveLength(all.length);
  });

  it('apply to users and plans, which are no connections', async () => {
    interface Lists {
      readonly users: { readonly username: string; readonly registered: string }[];
      readonly plans: { readonly name: string; readonly free: boolean }[];
    }
    const all = await world.data<Lists>('{ users { username registered } plans { name free } }');
    const found = await world.data<Lists>(`{
      users(search: "a", orderBy: { field: REGISTERED_AT, direction: DESC }) { username registered }
      plans(free: false, orderBy: { field: NAME }) { name free }
    }`);
    const registered = found.users.map((user) => user.registered);
    expect(registered).toEqual(registered.toSorted().toReversed());
    expect(found.users.length).toBeGreaterThan(0);
    expect(found.users.length).toBeLessThan(all.users.length);
    expect(found.plans).toEqual(
      all.plans
        .filter(({ free }) => !free)
        .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1)),
    );
  });
});
