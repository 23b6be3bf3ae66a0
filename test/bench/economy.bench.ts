import { afterAll, beforeAll, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { StandIn, upTo } from '../graph/paging/stand-in.ts';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';
import { type Figure, record } from './report/measurement.ts';

/** Something that a frontend does, and the fewest upstream calls with which it can be answered. */
interface Workload {
  readonly label: string;
  readonly minimum: number;
  /** Runs before anything is counted. */
  readonly before?: (world: World) => Promise<unknown>;
  readonly run: (world: World) => Promise<unknown>;
}

interface Channels {
  readonly channels: Connection<{
    readonly id: string;
    readonly databaseId: number;
    readonly name: string;
    readonly items: { readonly totalCount: number };
  }>;
}

const dashboard = `{
  account { username email status }
  channels(first: 10) { nodes { id databaseId name items(first: 5) { totalCount
    edges { cursor } nodes { __typename ... on ChannelEntry { title link } } } } }
}`;
const channelList = '{ channels(first: 100) { nodes { id databaseId name } } }';
const qrCodes = `query ($id: ID!) { channel(id: $id) { items(first: 20) { nodes {
  ... on QrItem { title qrCode { name scans } } } } } }`;

/** Queries about nothing but what the dashboard's calls have brought. */
const others = [
  '{ account { id avatar expires registered } }',
  '{ channels(first: 25) { totalCount nodes { name description color starred } } }',
  '{ channels(last: 3) { nodes { name } pageInfo { hasPreviousPage } } }',
  '{ channels(first: 10) { nodes { items(first: 100) { nodes { __typename } } } } }',
  'query ($id: ID!) { channel(id: $id) { name items(last: 2) { nodes { __typename } } } }',
  'query ($id: ID!) { node(id: $id) { ... on Channel { name starred } } }',
];

const workloads: readonly Workload[] = [
  {
    label: 'account + 10 channels with 5 items each, empty cache',
    minimum: 12,
    run: (world) => world.data(dashboard),
  },
  {
    label: 'the same by 8 clients at the same time',
    minimum: 12,
    run: (world) => Promise.all(Array.from({ length: 8 }, () => world.data(dashboard))),
  },
  {
    label: 'the same again',
    minimum: 0,
    before: (world) => world.data(dashboard),
    run: (world) => world.data(dashboard),
  },
  {
    label: `${others.length} other queries over the same data`,
    minimum: 0,
    before: (world) => world.data(dashboard),
    async run(world) {
      const { channels } = await world.data<Channels>(dashboard);
      // The end of a longer one stands on a page that the dashboard does not need.
      const id = channels.nodes.find(({ items }) => items.totalCount < 100)?.id;
      for (const query of others) await world.data(query, { id });
    },
  },
  {
    label: 'a channel’s 20 items with all their QR codes',
    minimum: 2,
    before: (world) => world.data(channelList),
    async run(world) {
      const { channels } = await world.data<Channels>(channelList);
      const codes = channels.nodes.find(({ name }) => name === 'Packaging codes');
      const { channel } = await world.data<{ channel: { items: Connection<Row> } }>(qrCodes, {
        id: codes?.id,
      });
      const complete = channel.items.nodes.filter(({ qrCode }) => qrCode);
      if (complete.length !== 20) throw new Error(`${complete.length} codes, not 20`);
    },
  },
  {
    label: 'one channel while its list is cached',
    minimum: 0,
    before: (world) => world.data(channelList),
    async run(world) {
      const { channels } = await world.data<Channels>(channelList);
      const id = String(channels.nodes[7]?.databaseId);
      await world.data('query ($id: ID!) { channel(id: $id) { name color } }', { id });
    },
  },
  {
    label: 'all users with their plans',
    minimum: 2,
    run: (world) => world.data('{ users { username plan { name limits { links } } } }'),
  },
  {
    label: 'the item list, 3 items by id and a purchase',
    minimum: 2,
    async run(world) {
      const { items } = await world.data<{ items: Connection<{ id: string }> }>(
        '{ items(first: 500) { nodes { id name } } }',
      );
      for (const { id } of items.nodes.slice(0, 3)) {
        await world.data('query ($id: ID!) { item(id: $id) { name } }', { id });
      }
      const code = world.sandbox.market.purchaseCodes.valid[0];
      await world.data('query ($code: String!) { purchase(code: $code) { item { name } } }', {
        code,
      });
    },
  },
];

/** Ten channels with three QR codes each, far apart in 600 codes on 6 pages. */
async function farCodes(): Promise<Figure> {
  await using upstream = await StandIn.start();
  upstream.channels = upTo(10);
  upstream.qrs = upTo(600);
  for (const channel of upstream.channels) {
    const ids = [0, 1, 2].map((n) => 1 + (((channel * 3 + n) * 77) % 600));
    upstream.items.set(
      channel,
      ids.map((id) => ({ type: 'qr', id })),
    );
  }
  const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_RATE_LIMIT: '30' };
  const world = await startWorld({ only: 'links', env });
  await world.data(
    '{ channels(first: 10) { nodes { items(first: 50) { nodes { ... on QrItem { qrCode { name } } } } } } }',
  );
  await world.close();
  return figure('10 channels with 3 QR codes each, of 600 codes', upstream.log.length, 17);
}

function figure(label: string, calls: number, minimum: number): Figure {
  return {
    label,
    // Where none is needed, the first call counts as if it were a second.
    value: minimum === 0 ? 1 + calls : calls / minimum,
    digits: 2,
    target: { atMost: 1 },
    note: `${calls} of ${minimum} calls`,
  };
}

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

it('economy', async () => {
  const figures: Figure[] = [];
  for (const { label, minimum, before, run } of workloads) {
    sandbox.reset();
    const env = { LINKS_RATE_LIMIT: '30', MARKET_RATE_LIMIT: '60' };
    const world = await startWorld({ on: sandbox, env });
    try {
      await before?.(world);
      world.forgetCalls();
      await run(world);
      figures.push(figure(label, world.calls().length, minimum));
    } finally {
      await world.close();
    }
  }
  figures.push(await farCodes());
  record({
    bench: 'economy',
    about:
      'Upstream calls over the fewest possible. The sandbox counts them, with a limit of 30 per minute.',
    figures,
  });
});
