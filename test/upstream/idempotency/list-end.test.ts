import { beforeEach, expect, it } from 'vitest';
import { createChannel } from '../../../src/links/content/channel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { KeyedProcess, keyedSandbox, newKey, outcome } from './keyed-world.ts';

const ADD = '/api/channel/add';
const LIST = '/api/channels';
const SIZE = 10;
/** How long a caller waits, in milliseconds. */
const PATIENCE = 60_000;

interface ChannelRow {
  readonly id: number;
}

let clock: VirtualClock;
let sandbox: Sandbox;
/** All channels, in the order of the API: new ones are on the last page. */
let rows: ChannelRow[] = [];

beforeEach(async () => {
  clock = new VirtualClock();
  sandbox = await keyedSandbox(clock);
  sandbox.links.fault({
    kind: 'answer',
    path: LIST,
    rewrite: (answer, { query }) => {
      if (query['limit'] === '100') return answer;
      const page = Number(query['page']);
      const maxpage = Math.ceil(rows.length / SIZE);
      const nextpage = page < maxpage ? page + 1 : null;
      const members = { result: rows.length, perpage: SIZE, currentpage: page, nextpage, maxpage };
      const channels = rows.slice((page - 1) * SIZE, page * SIZE);
      return { ...answer, body: { error: '0', data: { ...members, channels } } };
    },
  });
});

const start = (): Promise<KeyedProcess> => KeyedProcess.start(sandbox, { clock });
const channel = (name: string) => createChannel({ name });

async function readAll(): Promise<void> {
  const headers = { authorization: `Bearer ${sandbox.links.key}`, connection: 'close' };
  const response = await fetch(`${sandbox.links.url}${LIST}?limit=100`, {
    headers: { ...headers, 'user-agent': 'a test' },
  });
  const { data } = (await response.json()) as { data: { channels: ChannelRow[] } };
  rows = data.channels.toSorted((a, b) => a.id - b.id);
}

/** Creates channels until the last of at least two pages has so many. */
async function fill(last: number): Promise<void> {
  await readAll();
  for (let n = rows.length; n <= SIZE || n % SIZE !== last; n += 1) {
    await (await start()).call().links.write(channel(`Channel ${n}`));
  }
  await readAll();
}

/** Creates a channel whose response is lost, with a caller that does not wait. */
async function lose(process: KeyedProcess, name: string): Promise<string> {
  const key = newKey();
  sandbox.links.fault({ kind: 'drop', applied: true, path: ADD, times: 1 });
  await outcome(process.call({ key, maxWaitMs: 0 }).links.write(channel(name)));
  await readAll();
  return key;
}

/** The result of a retry, and the pages that it has read. */
async function retried(process: KeyedProcess, key: string, name: string) {
  sandbox.links.clearLog();
  const result = outcome(process.call({ key, maxWaitMs: PATIENCE }).links.write(channel(name)));
  await clock.advance(PATIENCE);
  const sent = sandbox.links.requests;
  return {
    value: await result,
    pages: sent.flatMap(({ method, query }) => (method === 'GET' ? Number(query['page']) : [])),
    adds: sent.filter(({ method }) => method === 'POST').length,
  };
}

it('a creation is found at the end of the page before, which it has filled', async () => {
  const process = await start();
  await fill(9);
  const last = Math.ceil(rows.length / SIZE);
  await process.call().links.write(channel('Spring'));
  const key = await lose(process, 'Summer');
  const other = await lose(process, 'Autumn');
  await retried(process, other, 'Autumn');
  const { adds, pages, value } = await retried(process, key, 'Summer');
  expect(value).toMatchObject({ name: 'Summer' });
  expect({ adds, pages }).toEqual({ adds: 0, pages: [last + 1, last] });
});
