import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, openBrowser } from '../../e2e/browser.ts';
import { chromium } from '../../support/needs.ts';
import { type Figure, percentile } from '../report/measurement.ts';
import { startBare } from './bare.ts';
import { sample } from './load.ts';
import { DASHBOARD, type Headers, otherOrigin, plain, post, sameOrigin } from './requests.ts';
import type { Server } from './servers.ts';

/** How often a page asks in a row, and how often before that for nothing. */
const ASKS = 200;
const WARM_UP = 50;
/** Each page so often, by turns with the same page on a bare server. */
const ROUNDS = 3;

/** A page in Chromium that asks for the dashboard. */
export interface PagePlan {
  /** By whose beginning `ROWS` selects it. */
  readonly name: string;
  readonly label: string;
  readonly from: 'the same origin' | 'another origin';
  /** What Chromium sends in place of its own headers. */
  readonly headers: Headers;
  /** A request that has the same answer. */
  readonly like: Headers;
}

/** All pages. */
export const pagePlans: readonly PagePlan[] = [
  {
    name: 'chromium-same',
    label: 'Chromium, a page of the same origin',
    from: 'the same origin',
    headers: {},
    like: sameOrigin,
  },
  {
    name: 'chromium-other',
    label: 'Chromium, a page of another origin',
    from: 'another origin',
    headers: {},
    like: otherOrigin,
  },
  {
    name: 'chromium-identity',
    label: 'Chromium, a page of the same origin, uncompressed',
    from: 'the same origin',
    headers: { 'accept-encoding': 'identity' },
    like: plain,
  },
];

/** What lets any page call a bare server. */
const OPEN: Headers = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '600',
};

/** Serves an empty page from an origin of its own. */
export async function startPageOrigin(): Promise<{
  readonly origin: string;
  readonly stop: () => void;
}> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return { origin, stop: () => server.close() };
}

/** Whether there is a browser. */
export function hasBrowser(): boolean {
  return existsSync(chromium.path);
}

/**
 * Has pages in Chromium ask the gateway, over real sockets, and the same pages a bare server that sends the same
 * bytes. `origin` is of a page that the gateway lists.
 */
export async function measurePages(
  pages: readonly PagePlan[],
  gateway: Server,
  origin: string,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  const browser = await openBrowser();
  try {
    for (const page of pages) {
      const answer = await sample(gateway.port, post(page.like, DASHBOARD), 5);
      const bare = await startBare([answer], OPEN);
      const [server] = bare.servers;
      const ours: number[][] = [];
      const theirs: number[][] = [];
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          ours.push(await askFrom(browser, page, gateway.port, origin));
          theirs.push(await askFrom(browser, page, server?.port ?? 0, origin));
        }
      } finally {
        await bare.stop();
      }
      figures.push(figureOf(page, ours, theirs));
    }
  } finally {
    await browser.close();
  }
  return figures;
}

/** Milliseconds of each request that a page makes. */
async function askFrom(
  browser: Browser,
  { from, headers }: PagePlan,
  port: number,
  origin: string,
): Promise<number[]> {
  // What a server lets its own documents do is not measured here.
  const context = await browser.newContext({ bypassCSP: true, extraHTTPHeaders: headers });
  const page = await context.newPage();
  const own = `http://localhost:${port}`;
  await page.goto(from === 'the same origin' ? `${own}/livez` : origin);
  const url = from === 'the same origin' ? `${own}/graphql` : `http://127.0.0.1:${port}/graphql`;
  const body = JSON.stringify({ query: DASHBOARD });
  const times = await page.evaluate(
    async ({ url, body, warmUp, asks }) => {
      const times: number[] = [];
      for (let n = 0; n < warmUp + asks; n += 1) {
        const begin = performance.now();
        const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
        const text = await (await fetch(url, init)).text();
        if (!text.startsWith('{"data":{')) throw new Error(`answered ${text}`);
        if (n >= warmUp) times.push(performance.now() - begin);
      }
      return times;
    },
    { url, body, warmUp: WARM_UP, asks: ASKS },
  );
  await context.close();
  return times;
}

function figureOf(
  { label }: PagePlan,
  ours: readonly (readonly number[])[],
  theirs: readonly (readonly number[])[],
): Figure {
  const of = (rounds: readonly (readonly number[])[], share: number): number =>
    percentile(
      rounds.map((times) => percentile(times, share)),
      0.5,
    );
  const both = (share: number): string =>
    `${of(ours, share).toFixed(2)} over ${of(theirs, share).toFixed(2)} ms`;
  return {
    label: `${label}, ${ASKS} requests: median over that of bare node:http`,
    value: of(ours, 0.5) / of(theirs, 0.5),
    digits: 2,
    note: `${both(0.5)}; p99 ${both(0.99)}`,
  };
}
