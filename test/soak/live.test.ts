import { afterEach, beforeEach, expect, it } from 'vitest';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { Viewers } from '../bench/live/viewers.ts';
import { configOf } from '../support/config.ts';
import { exchange } from '../support/exchange.ts';
import { PLENTY } from '../support/gateway.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { createDice } from './load.ts';
import { heapNow } from './soak.ts';

/** `npm run soak:live` opens 100,000 streams, and cuts 1,000. */
const streams = Number(process.env['LIVE_STREAMS'] ?? 600);
const cuts = Number(process.env['LIVE_CUTS'] ?? 24);
const seed = Number(process.env['LIVE_SEED'] ?? Date.now() % 1_000_000);

/** This many are open at a time. */
const AT_A_TIME = 50;
const SAMPLES = 15;
/** More than this is a leak: what the engine itself moves about is less. */
const TOLERATED_MIB = 1;
const CLIENTS = 24;
/** Clients that are away at a time, at most. */
const MOST_AWAY = 8;

const queries = [
  'query @live { campaigns(first: 500) { totalCount nodes { databaseId name } } }',
  'query @live { pixels(first: 10) { nodes { name tag } } campaigns(first: 2) { nodes { name } } }',
  'query @live(throttle: 30) { campaigns(last: 4) { edges { cursor node { name } } } }',
  'query @live { account { username } channels(first: 3) { nodes { name items(first: 3) { totalCount } } } }',
] as const;

let sandbox: Sandbox;
let gateway: Gateway;
let url = '';

beforeEach(async () => {
  sandbox = await startSandbox({ limit: { requests: PLENTY } });
  const config = configOf({
    PORT: '0',
    AUTH_MODE: 'none',
    LINKS_BASE_URL: sandbox.links.url,
    LINKS_API_KEY: sandbox.links.key,
    LINKS_RATE_LIMIT: String(PLENTY),
    liveMaxStreamsPerCaller: '2000',
    shutdownGraceMs: '2000',
    LOG_LEVEL: 'silent',
  });
  gateway = await createGateway(config);
  ({ url } = await gateway.listen());
});

afterEach(async () => {
  await gateway.close();
  await sandbox.close();
});

/** Sends an operation and answers with its JSON. */
async function ask(query: string): Promise<{ readonly data: Record<string, unknown> }> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ query });
  const { text } = await exchange(`${url}/graphql`, { method: 'POST', headers, body });
  return JSON.parse(text) as { data: Record<string, unknown> };
}

/** Resolves when the gateway has noticed that no caller looks any more. */
async function untilAllHaveLeft(): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (/^gateway_live_streams 0$/m.test(metrics)) return;
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

it(
  'memory stays flat however many come and go',
  async () => {
    const heapMib: number[] = [];
    const bodies = queries.map((query) => JSON.stringify({ query }));
    const { port } = new URL(url);
    for (let opened = 0; opened < streams; opened += AT_A_TIME) {
      const viewers = new Viewers({
        port: Number(port),
        bodies,
        accept: 'text/event-stream;live=age',
      });
      await viewers.open(AT_A_TIME);
      viewers.close();
      await untilAllHaveLeft();
      if (opened / streams < heapMib.length / SAMPLES) continue;
      sandbox.links.clearLog();
      heapMib.push(heapNow());
    }
    console.info(
      `${streams} streams, heap in MiB ${heapMib.map((mib) => mib.toFixed(2)).join(' ')}`,
    );
    const third = Math.floor(heapMib.length / 3);
    const middle = median(heapMib.slice(third, 2 * third));
    expect(median(heapMib.slice(2 * third)) - middle).toBeLessThan(TOLERATED_MIB);
  },
  60_000 + 20 * streams,
);

/** One who looks at a query, and goes on where they were after each cut. */
class Client {
  readonly query: string;
  #viewer: LiveViewer;

  constructor(query: string) {
    this.query = query;
    this.#viewer = LiveViewer.open(url, { query });
  }

  get isAway(): boolean {
    return this.#viewer.ended;
  }

  cut(): void {
    this.#viewer.close();
  }

  comeBack(): void {
    this.#viewer = LiveViewer.open(url, { query: this.query });
  }

  /** Resolves when this is what they see. */
  async sees(data: unknown): Promise<void> {
    const expected = JSON.stringify({ data });
    await this.#viewer.until(({ document }) => JSON.stringify(document) === expected);
  }
}

it(
  'a viewer that is cut off at any moment sees in the end what all see',
  async () => {
    console.info(`${cuts} cuts, LIVE_SEED=${seed}`);
    const roll = createDice(seed);
    const clients = Array.from(
      { length: CLIENTS },
      (_, n) => new Client(queries[n % queries.length] ?? queries[0]),
    );
    let made = 0;
    const write = (): Promise<unknown> => {
      made += 1;
      if (roll(3) === 0)
        return ask(
          `mutation { createPixel(input: { type: GA, name: "p${made}", tag: "t" }) { __typename } }`,
        );
      return ask(`mutation { createCampaign(input: { name: "c${made}" }) { __typename } }`);
    };
    const writes: Promise<unknown>[] = [];
    for (let n = 0; n < cuts; ) {
      const away = clients.filter(({ isAway }) => isAway);
      const here = clients.filter(({ isAway }) => !isAway);
      const what = roll(3);
      if (what === 0 && away.length < MOST_AWAY) {
        here[roll(here.length)]?.cut();
        n += 1;
      } else if (what === 1) {
        away[roll(Math.max(1, away.length))]?.comeBack();
      } else {
        const written = write();
        writes.push(written);
        // Some cuts fall into the middle of a write, and some between two.
        if (roll(2) === 0) await written;
      }
    }
    await Promise.all(writes);
    for (const client of clients) if (client.isAway) client.comeBack();
    for (const query of queries) {
      const { data } = await ask(query);
      await Promise.all(
        clients.filter((client) => client.query === query).map((client) => client.sees(data)),
      );
    }
    for (const client of clients) client.cut();
    await untilAllHaveLeft();
  },
  60_000 + 20 * streams,
);

it('a stream keeps its operation and its variables, and nothing else of a large request', async () => {
  const MOST_KIB = 100;
  const MANY = 40;
  const page = 'query Page($n: Int) @live { campaigns(first: $n) { nodes { name } } }';
  const text = (n: number, kind: 'comment' | 'variable') => ({
    query: kind === 'comment' ? `${page} #${'x'.repeat(900_000)}${n}` : page,
    variables: { n, ...(kind === 'variable' && { other: 'y'.repeat(900_000) }) },
  });
  await LiveViewer.begun(url, { body: text(100, 'comment') });
  await LiveViewer.begun(url, { body: text(101, 'variable') });
  for (const kind of ['comment', 'variable'] as const) {
    const before = heapNow();
    const first = kind === 'comment' ? 0 : MANY;
    for (let n = 1; n <= MANY; n += 1) await LiveViewer.begun(url, { body: text(first + n, kind) });
    expect(((heapNow() - before) * 1024) / MANY, kind).toBeLessThan(MOST_KIB);
  }
  LiveViewer.closeAll();
});
