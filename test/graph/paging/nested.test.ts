import * as fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Connection, startWorld, type World } from '../../support/gateway.ts';
import { StandIn, upTo } from './stand-in.ts';

type Coded = { readonly qrCode: { readonly name: string } | null };
interface Channels {
  readonly channels: Connection<{ readonly items: Connection<Coded> }>;
}

const CODES = 'items(first: 50) { nodes { ... on QrItem { qrCode { name } } } }';
const QUERY = `{ channels(first: 10) { nodes { ${CODES} } } }`;

/** 600 codes on 6 pages, and ten channels with three of them each, far apart. */
describe('QR codes of the items of ten channels', () => {
  let upstream: StandIn;
  let world: World;

  beforeAll(async () => {
    upstream = await StandIn.start();
    upstream.channels = upTo(10);
    upstream.qrs = upTo(600);
    for (const channel of upstream.channels) {
      const ids = [0, 1, 2].map((n) => 1 + (((channel * 3 + n) * 77) % 600));
      upstream.items.set(
        channel,
        ids.map((id) => ({ type: 'qr', id })),
      );
    }
  });
  beforeEach(async () => {
    upstream.log.length = 0;
    const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_RATE_LIMIT: '30' };
    world = await startWorld({ only: 'links', env });
  });

  const expected = () =>
    upstream.channels.map((channel) =>
      (upstream.items.get(channel) ?? []).map(({ id }) => `Code ${id}`),
    );
  const names = ({ channels }: Channels) =>
    channels.nodes.map(({ items }) => items.nodes.map(({ qrCode }) => qrCode?.name));

  it('cost 17 calls, however long each channel takes', async () => {
    // Each answers at a time of its own, so that each brings its ids alone.
    upstream.delay = (path) => {
      const [, channel] = /^\/api\/channel\/(\d+)$/.exec(path) ?? [];
      return channel === undefined ? 0 : Number(channel) * 12;
    };
    const { data, errors, receipt } = await world.ask<Channels>(QUERY);
    expect(errors).toEqual([]);
    expect(names(data)).toEqual(expected());
    expect(upstream.log).toHaveLength(17);
    expect(receipt.calls).toBe(17);
  });

  it('are read together with those of a channel that is asked for by id', async () => {
    upstream.delay = (path) => (path === '/api/channels' ? 60 : 0);
    const { errors } = await world.ask(
      `{ channel(id: "3") { ${CODES} } channels(first: 10) { nodes { ${CODES} } } }`,
    );
    expect(errors).toEqual([]);
    expect(upstream.log).toHaveLength(17);
  });

  it('come in spite of a channel whose items cannot be read', async () => {
    upstream.delay = () => 0;
    upstream.broken = '/api/channel/4';
    const { data, errors } = await world.ask<Channels>(QUERY);
    upstream.broken = null;
    expect(errors).toHaveLength(1);
    expect(data.channels.nodes[2]?.items.nodes).toHaveLength(3);
    expect(upstream.log.length).toBeLessThanOrEqual(18);
  });

  it('does not hold up a code that is asked for by itself', async () => {
    upstream.delay = (path) => (path === '/api/channels' ? 150 : 0);
    // Past the first request of a gateway, which goes alone.
    await world.data('{ qrCode(id: "8") { name } }');
    upstream.log.length = 0;
    const answer = world.ask('{ qrCode(id: "7") { name } channels(first: 1) { totalCount } }');
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
    expect(upstream.log).toContain('/api/qr/7');
    await answer;
  });

  it('cost the same in any order of the answers', async () => {
    await world.close();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 11, maxLength: 11 }),
        async (delays) => {
          upstream.delay = (path) => delays[Number(path.split('/')[3]) || 0] ?? 0;
          upstream.log.length = 0;
          const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_RATE_LIMIT: '30' };
          const cold = await startWorld({ only: 'links', env });
          const { data, errors } = await cold.ask<Channels>(QUERY);
          await cold.close();
          expect(errors).toEqual([]);
          expect(names(data)).toEqual(expected());
          expect(upstream.log).toHaveLength(17);
        },
      ),
      { numRuns: 8 },
    );
  });
});
