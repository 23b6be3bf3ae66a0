import { describe, expect, it } from 'vitest';
import { type Connection, startWorld, type World } from '../../support/gateway.ts';
import { overStandIn, type StandIn, upTo } from './stand-in.ts';

type Channels = { readonly channels: Connection<{ readonly databaseId: number }> };

const rows = (count: number) => `{ channels(first: ${count}) { totalCount nodes { databaseId } } }`;
const FIRST_PAGE = rows(5);
const ALL = rows(100);

describe('A list whose pages were read at different times', () => {
  let upstream: StandIn;
  let world: World;

  overStandIn(async (...stage) => {
    [upstream, world] = stage;
    upstream.channels = upTo(25);
    upstream.tells = (count) => count;
    upstream.repeats = 0;
    await world.data(FIRST_PAGE);
  });

  async function all() {
    const { channels } = await world.data<Channels>(ALL);
    return { ids: channels.nodes.map(({ databaseId }) => databaseId), total: channels.totalCount };
  }
  const dropElsewhere = (...ids: number[]) => {
    upstream.channels = upstream.channels.filter((id) => !ids.includes(id));
  };

  it('shows what is there after a row was deleted elsewhere, with the outdated page read again', async () => {
    dropElsewhere(3);
    expect(await all()).toEqual({ ids: upstream.channels, total: 24 });
    expect(upstream.log.toSorted()).toEqual([
      '/api/channels 1',
      '/api/channels 2',
      '/api/channels 3',
    ]);
    upstream.log.length = 0;
    expect(await all()).toEqual({ ids: upstream.channels, total: 24 });
    expect(upstream.log).toEqual([]);
  });

  it('shows what is there after rows were made elsewhere', async () => {
    upstream.channels.unshift(1001, 1002);
    expect(await all()).toEqual({ ids: upstream.channels, total: 27 });
    expect(upstream.log).toHaveLength(3);
  });

  it('goes on from a cursor of the outdated page without a gap', async () => {
    const { channels } = await world.data<Channels>(
      '{ channels(first: 10) { pageInfo { endCursor } } }',
    );
    dropElsewhere(3);
    const next = await world.data<Channels>(
      'query ($after: String) { channels(first: 5, after: $after) { nodes { databaseId } } }',
      { after: channels.pageInfo.endCursor },
    );
    expect(next.channels.nodes.map(({ databaseId }) => databaseId)).toEqual([11, 12, 13, 14, 15]);
  });

  it('has the row by its id that moved from the page read later to the outdated one', async () => {
    dropElsewhere(3);
    expect(await world.data('{ channel(id: "11") { name } }')).toEqual({
      channel: { name: 'Channel 11' },
    });
    expect(upstream.log.length).toBeLessThanOrEqual(3);
  });

  it('has no row by its id that is deleted, once another page says that one is', async () => {
    dropElsewhere(3);
    await world.data('{ channel(id: "25") { name } }');
    expect(await world.data('{ channel(id: "3") { name } }')).toEqual({ channel: null });
  });

  it('is noticed by rows that are on two pages where nothing reports how many there are', async () => {
    await world.close();
    upstream.tells = () => undefined;
    const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_PAGE_SIZE: '10' };
    world = await startWorld({ only: 'links', env });
    await world.data(FIRST_PAGE);
    upstream.channels.unshift(1001);
    upstream.log.length = 0;
    expect((await all()).ids).toEqual(upstream.channels);
    expect(upstream.log).toHaveLength(3);
  });

  it('shows what is there although others came for those that went', async () => {
    upstream.channels = [1001, ...upTo(25).filter((id) => id !== 15)];
    expect(await all()).toEqual({ ids: upstream.channels, total: 25 });
    expect(upstream.log).toHaveLength(3);
  });

  it.each([ALL, '{ channel(id: "11") { name } }'])(
    'shows what is there after a write that ran beside the reads: %s',
    async (query) => {
      upstream.tells = () => undefined;
      await world.data('mutation { updateChannel(input: { id: "1", name: "a" }) { __typename } }');
      upstream.delay = (path, page) => (path === '/api/channels' && page > 1 ? 120 : 0);
      upstream.late = true;
      const answer = world.data<Channels>(query);
      await new Promise((resolve) => {
        setTimeout(resolve, 40);
      });
      await world.data('mutation { deleteChannel(id: "3") { __typename } }');
      const { channels, channel } = (await answer) as Channels & { channel?: unknown };
      upstream.late = false;
      upstream.delay = () => 0;
      if (query === ALL) {
        expect(channels.nodes.map(({ databaseId }) => databaseId)).toEqual(upstream.channels);
      } else expect(channel).toEqual({ name: 'Channel 11' });
    },
  );

  it('shows a row once that two pages have in common, in one window and over several', async () => {
    upstream.repeats = 2;
    const walk = async (way: 'forwards' | 'backwards', size: number) => {
      const [count, edge] = way === 'forwards' ? ['first', 'after'] : ['last', 'before'];
      const shown: number[][] = [];
      let cursor: string | null = null;
      // More windows than there are rows would be a walk without an end.
      while (shown.length <= 25) {
        const { channels } = await world.data<Channels>(
          `query ($cursor: String) { channels(${count}: ${size}, ${edge}: $cursor) {
            nodes { databaseId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
          } }`,
          { cursor },
        );
        const ids = channels.nodes.map(({ databaseId }) => databaseId);
        const pageInfo: Channels['channels']['pageInfo'] = channels.pageInfo;
        const { endCursor, hasNextPage, hasPreviousPage, startCursor } = pageInfo;
        if (way === 'forwards') shown.push(ids);
        else shown.unshift(ids);
        if (!(way === 'forwards' ? hasNextPage : hasPreviousPage)) break;
        cursor = way === 'forwards' ? endCursor : startCursor;
      }
      return shown.flat();
    };
    for (const size of [1, 4, 5, 10, 12, 25]) {
      expect(await walk('forwards', size), `forwards by ${size}`).toEqual(upTo(25));
      expect(await walk('backwards', size), `backwards by ${size}`).toEqual(upTo(25));
    }
  });

  it('costs nothing for long where pages have rows in common', async () => {
    upstream.repeats = 2;
    await all();
    for (let round = 0; round < 10; round += 1) {
      expect((await all()).ids).toEqual(upTo(25));
    }
    expect(upstream.log.length).toBeLessThanOrEqual(5);
  });

  it('costs nothing for long where each page reports a number of its own', async () => {
    upstream.tells = (_, page) => 100 + page;
    await all();
    for (let round = 0; round < 10; round += 1) await all();
    expect(upstream.log.length).toBeLessThanOrEqual(6);
    upstream.log.length = 0;
    for (let round = 0; round < 10; round += 1) await all();
    expect(upstream.log).toEqual([]);
  });

  it('costs nothing for long where the number changes with each answer', async () => {
    let told = 25;
    upstream.tells = () => {
      told += 1;
      return told;
    };
    for (let round = 0; round < 10; round += 1) await all();
    // At most as many as the list's own reads: one for the first page and two for the others.
    expect(upstream.log.length).toBeLessThanOrEqual(5);
    upstream.log.length = 0;
    for (let round = 0; round < 10; round += 1) await all();
    expect(upstream.log).toEqual([]);
  });
});
