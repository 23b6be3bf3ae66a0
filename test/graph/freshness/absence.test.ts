import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const TTL = 60_000;
/** Pages of the list of channels, as the gateway reads it here. */
const PAGES = 3;
const FIND = 'query ($id: ID!) { channel(id: $id) { name } }';

describe('How fresh it is that there is no such thing', () => {
  let clock: VirtualClock;
  let world: World;
  /** The id that the next channel will get. */
  let id: string;
  /** The id of one on the first page. */
  let present: string;

  beforeEach(async () => {
    clock = new VirtualClock();
    world = await startWorld({
      clock,
      only: 'links',
      sandbox: { clock },
      env: { 'ttl.channels': String(TTL), LINKS_PAGE_SIZE: '10', LINKS_RATE_LIMIT: '30' },
    });
    // Ids are given out one after the other.
    id = String((await createElsewhere()) + 1);
    const { channels } = await world.data<{
      channels: { nodes: { databaseId: number }[]; totalCount: number };
    }>('{ channels(first: 100) { totalCount nodes { databaseId } } }');
    present = String(channels.nodes[0]?.databaseId);
    expect(Math.ceil(channels.totalCount / 10)).toBe(PAGES);
    world.forgetCalls();
  });

  const find = () => world.ask<{ channel: { name: string } | null }>(FIND, { id });

  /** A channel is made as a person does it who uses the upstream's own pages. */
  async function createElsewhere(): Promise<number> {
    const { url, key } = world.sandbox.links;
    const response = await fetch(`${url}/api/channel/add`, {
      method: 'POST',
      headers: {
        'user-agent': 'a test',
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: 'Made elsewhere' }),
    });
    return ((await response.json()) as { id: number }).id;
  }

  it('is told with the age of the pages that it is concluded from', async () => {
    await clock.advance(1000);
    const { data, receipt } = await find();
    expect(data).toEqual({ channel: null });
    expect(receipt).toEqual({
      calls: 0,
      saved: { cache: PAGES, coalesced: 0 },
      stale: 0,
      refreshes: 0,
      maxAgeMs: 1000,
      waitedMs: 0,
    });
  });

  it('is told as stale just past the ttl, and read again behind the reader', async () => {
    await createElsewhere();
    await clock.advance(TTL + 1000);
    const { data, receipt } = await find();
    expect(data).toEqual({ channel: null });
    expect(receipt).toMatchObject({ calls: 0, stale: PAGES, maxAgeMs: TTL + 1000 });
    await clock.settle();
    expect((await find()).data).toEqual({ channel: { name: 'Made elsewhere' } });
  });

  it('ends within the ttl for who asks again and again', async () => {
    await createElsewhere();
    for (let ms = 0; ms < TTL; ms += 1000) {
      await find();
      await clock.advance(1000);
    }
    expect((await find()).data).toEqual({ channel: { name: 'Made elsewhere' } });
  });

  it('is not said any more past twice the ttl before the pages are read again', async () => {
    await clock.advance(2 * TTL);
    expect(await find()).toMatchObject({ data: { channel: null }, receipt: { calls: PAGES } });
    await createElsewhere();
    await clock.advance(2 * TTL);
    expect((await find()).data).toEqual({ channel: { name: 'Made elsewhere' } });
  });

  it('costs nothing for a row that is there', async () => {
    await clock.advance(1000);
    const { receipt } = await world.ask(FIND, { id: present });
    expect(receipt).toMatchObject({ calls: 0, saved: { cache: 1 } });
  });
});
