import { beforeEach, describe, expect, it } from 'vitest';
import type { GatewayError } from '../../../src/errors.ts';
import { createUser } from '../../../src/links/account/user.ts';
import { createDomain } from '../../../src/links/brand/branded-domain.ts';
import { createPixel } from '../../../src/links/brand/pixel.ts';
import { createCampaign } from '../../../src/links/content/campaign.ts';
import { createChannel } from '../../../src/links/content/channel.ts';
import { createQrCode } from '../../../src/links/content/qr-code.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Row, Write } from '../../../src/upstream/request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { KeyedProcess, keyedSandbox, newKey, outcome } from './keyed-world.ts';

/** A row as the API sends it. */
type Sent = Readonly<Record<string, unknown>> & { readonly id: number };

/** A creation, and the list in which its row appears. */
interface Noun {
  readonly name: string;
  readonly write: Write<Row>;
  readonly list: string;
  readonly add: string;
  /** Of the rows in the body. */
  readonly key: string;
  /** The members of its row, or of a row of another content. */
  readonly row: (name: string, date: string) => Omit<Sent, 'id'>;
}

const nouns: readonly Noun[] = [
  {
    name: 'pixel',
    write: createPixel({ type: 'GTM', name: 'Summer', tag: 'GTM-ABCDE' }),
    list: '/api/pixels',
    add: '/api/pixel/add',
    key: 'pixels',
    row: (name, date) => ({ name, type: 'gtmpixel', tag: 'GTM-ABCDE', date }),
  },
  {
    name: 'QR code',
    write: createQrCode({ name: 'Summer', type: 'TEXT', data: { value: 'x' } }),
    list: '/api/qr',
    add: '/api/qr/add',
    key: 'qrs',
    row: (name, date) => ({ name, link: 'https://a.example/qr', scans: 0, date }),
  },
  {
    name: 'channel',
    write: createChannel({ name: 'Summer' }),
    list: '/api/channels',
    add: '/api/channel/add',
    key: 'channels',
    row: (name) => ({ name }),
  },
  {
    name: 'campaign',
    write: createCampaign({ name: 'Summer' }),
    list: '/api/campaigns',
    add: '/api/campaign/add',
    key: 'campaigns',
    row: (name) => ({ name, public: false, rotator: false, list: `https://a.example/${name}` }),
  },
  {
    name: 'campaign with a slug',
    write: createCampaign({ slug: 'summer' }),
    list: '/api/campaigns',
    add: '/api/campaign/add',
    key: 'campaigns',
    row: (name) => ({ name, public: false, rotator: `https://a.example/r/${name}`, list: false }),
  },
  {
    name: 'domain',
    write: createDomain({ domain: 'https://summer.example' }),
    list: '/api/domains',
    add: '/api/domain/add',
    key: 'domains',
    row: (name) => ({ domain: `https://${name.toLowerCase()}.example`, redirectroot: '' }),
  },
  {
    name: 'user',
    write: createUser({ email: 'summer@a.example', username: 'summer', password: 'five5' }),
    list: '/api/users',
    add: '/api/user/add',
    key: '',
    row: (name, date) => ({
      email: `${name.toLowerCase()}@a.example`,
      username: name.toLowerCase(),
      registered: date,
    }),
  },
];

const DAY_MS = 86_400_000;
const PATIENCE_MS = 60_000;
const OLD_ROWS = 230;

let clock: VirtualClock;
let sandbox: Sandbox;
beforeEach(async () => {
  clock = new VirtualClock();
  sandbox = await keyedSandbox(clock);
});

/** How the list is, and what happens to it. */
interface Story {
  readonly order: 'newest first' | 'oldest first' | 'by name';
  readonly pageSize: number;
  /** Rows that others create before the retry. */
  readonly others: number;
  readonly isApplied: boolean;
  /** Whether another client deletes a row before each page after the first. */
  readonly deletes?: boolean;
}

/** Loses the response to a creation, and retries it with its key when others have created rows. */
async function story(noun: Noun, { isApplied, order, others, pageSize, deletes }: Story) {
  const at = (ms: number) =>
    new Date(clock.wall() + ms).toISOString().slice(0, 19).replace('T', ' ');
  let id = 0;
  const rows: Sent[] = [];
  const add = (name: string, date: string): Sent => {
    id += 1;
    const row = { id, ...noun.row(name, date) };
    rows.push(row);
    return row;
  };
  for (let n = 0; n < OLD_ROWS; n += 1) add(`Old${n}`, at((n - OLD_ROWS - 2) * DAY_MS));
  let reads = 0;
  const arranged = (): readonly Sent[] => {
    if (order === 'oldest first') return rows;
    if (order === 'newest first') return rows.toReversed();
    const text = (row: Sent) => JSON.stringify({ ...row, id: 0 });
    return rows.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  };
  sandbox.links.fault({
    kind: 'answer',
    path: noun.list,
    rewrite: (answer, { query }) => {
      reads += 1;
      // In newest first, the deleted row is newer than the own one.
      if (deletes && reads > 1) rows.splice(rows.length - 2, 1);
      if (noun.key === '') {
        const found = rows.filter(({ email }) => !query['email'] || email === query['email']);
        return { ...answer, status: 200, body: { error: '0', data: found } };
      }
      const page = Number(query['page']);
      const maxpage = Math.ceil(rows.length / pageSize);
      const nextpage = page < maxpage ? page + 1 : null;
      const members = {
        result: rows.length,
        perpage: pageSize,
        currentpage: page,
        nextpage,
        maxpage,
      };
      const some = arranged().slice((page - 1) * pageSize, page * pageSize);
      return {
        ...answer,
        status: 200,
        body: { error: '0', data: { ...members, [noun.key]: some } },
      };
    },
  });
  const process = await KeyedProcess.start(sandbox, { clock });
  const key = newKey();
  sandbox.links.fault({ kind: 'drop', path: noun.add, times: 1 });
  const send = (maxWaitMs: number) =>
    outcome(process.call({ key, maxWaitMs }).links.write(noun.write));
  await send(0);
  const own = isApplied ? add('Summer', at(0)) : null;
  for (let n = 0; n < others; n += 1) add(`Other${n}`, at(0));
  const retry = async (): Promise<unknown> => {
    const result = send(PATIENCE_MS);
    await clock.advance(PATIENCE_MS + 30_000);
    return result;
  };
  const results = [await retry(), await retry()];
  const adds = sandbox.links.requests.filter(({ method }) => method === 'POST').length;
  return { own, results, adds, reads };
}

const [pixel] = nouns as readonly [Noun];

describe('a creation whose response was lost, in a list by pages of 100,', () => {
  it.each([
    ['newest first', 101],
    ['oldest first', 101],
    ['oldest first', 150],
  ] as const)('is found: %s, %i made by others', async (order, others) => {
    const { adds, own, results } = await story(pixel, {
      order,
      others,
      pageSize: 100,
      isApplied: true,
    });
    expect({ adds, results }).toMatchObject({
      adds: 1,
      results: [{ id: own?.id }, { id: own?.id }],
    });
  });

  it.each([
    ['newest first', 5],
    ['oldest first', 101],
    ['newest first', 101],
    ['oldest first', 350],
    ['by name', 0],
  ] as const)('is unknown otherwise: %s, %i made by others', async (order, others) => {
    const { adds, results } = await story(pixel, {
      order,
      others,
      pageSize: 100,
      isApplied: false,
    });
    expect({ adds, results }).toMatchObject({
      adds: 1,
      results: [{ code: 'OUTCOME_UNKNOWN' }, { code: 'OUTCOME_UNKNOWN' }],
    });
  });
});

const ways: readonly Omit<Story, 'isApplied' | 'order'>[] = [
  { pageSize: 100, others: 5 },
  { pageSize: 100, others: 101 },
  { pageSize: 15, others: 25, deletes: true },
  { pageSize: 10, others: 12, deletes: true },
];
const orders = ['newest first', 'oldest first', 'by name'] as const;
const stories = orders.flatMap((order) => ways.map((way) => ({ order, ...way })));

describe.each(nouns)('a lost creation of a $name that is retried late, twice,', (noun) => {
  it.each(stories)(
    'is never made twice: $order, by $pageSize, $others made by others',
    async (way) => {
      const { adds, own, results } = await story(noun, { ...way, isApplied: true });
      const isTrue = (result: unknown) =>
        result instanceof Error
          ? (result as GatewayError).code === 'OUTCOME_UNKNOWN'
          : (result as Row).id === own?.id;
      expect({ adds, untrue: results.filter((result) => !isTrue(result)) }).toEqual({
        adds: 1,
        untrue: [],
      });
    },
  );
});
