import type { Page } from 'playwright-core';
import { isLocal } from '../../../src/http/door/local-caller.ts';
import { type Fault, type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { tempFolder } from '../../support/folder.ts';
import { freePort } from '../../support/free-port.ts';
import { PLENTY } from '../../support/gateway.ts';
import { type Running, start } from '../../support/process.ts';
import type { View } from '../axe.ts';
import { openBrowser } from '../browser.ts';

/** A page that runs, in a browser. */
export interface Visit {
  /** Address of the page. */
  readonly url: string;
  /** Hosts but the demo's own that the page has asked. */
  readonly elsewhere: readonly string[];
  /** What the page has complained of. */
  readonly complaints: readonly string[];
  /** Opens the page, without its script where that is said; it is closed with the visit. */
  readonly open: (view?: View, script?: 'no script') => Promise<Page>;
  /** Asks the gateway as the page does, with the page's token. */
  readonly ask: (query: string) => Promise<{ data: never }>;
  readonly close: () => Promise<void>;
}

/** The demo over a sandbox of the test, in a browser. */
export interface DashboardWorld extends Visit {
  readonly sandbox: Sandbox;
}

/** How a world differs from the usual one. */
export interface DashboardOptions {
  /** Of the demo, whose settings of its own these replace. */
  readonly env?: Readonly<Record<string, string>>;
  /** Of the link API, by both sides. */
  readonly limit?: { readonly requests: number; readonly windowMs: number };
  /** Fills the folder of the gateway's state before the gateway starts. */
  readonly prepare?: (sandbox: Sandbox, folder: string) => Promise<void>;
  /** Whose link API key the gateway uses; the administrator's by default. */
  readonly key?: 'admin' | 'free';
}

/** Starts what `npm run demo` starts, and resolves with the address of the page. */
export async function startDemo(
  env: Readonly<Record<string, string>>,
): Promise<{ demo: Running; url: string }> {
  const path = process.env['PATH'] ?? '';
  const demo = start(process.execPath, ['scripts/demo.js'], {
    cwd: '.',
    env: { PATH: path, PORT: '0', DASHBOARD_PORT: '0', ...env },
  });
  const [, url = ''] = await demo.says(/^dashboard +(\S+)$[^]*Ctrl-C/m);
  return { demo, url };
}

/** A demo over a sandbox of its own, whose limit is out of the way unless `limit` says otherwise. */
export async function startDashboard(options: DashboardOptions = {}): Promise<DashboardWorld> {
  const { requests, windowMs } = options.limit ?? { requests: PLENTY, windowMs: 60_000 };
  const sandbox = await startSandbox({ limit: { requests, windowMs }, isLocal });
  const { links, market } = sandbox;
  const folder = tempFolder();
  await options.prepare?.(sandbox, folder);
  const port = String(await freePort());
  const { demo, url } = await startDemo({
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.keys[options.key ?? 'admin'],
    LINKS_RATE_LIMIT: String(requests),
    LINKS_RATE_WINDOW_MS: String(windowMs),
    MARKET_BASE_URL: market.url,
    MARKET_API_KEY: market.key,
    STATE_DIR: folder,
    DASHBOARD_PORT: port,
    SANDBOX_LINKS_URL: links.url,
    SANDBOX_MARKET_URL: market.url,
    CORS_ORIGINS: `http://localhost:${port}`,
    ...options.env,
  });
  const visit = await browse(url);
  return {
    ...visit,
    sandbox,
    async close() {
      await visit.close();
      demo.child.kill('SIGTERM');
      await demo.ended;
      await sandbox.close();
    },
  };
}

/** Opens a browser for a page that runs. */
export async function browse(url: string): Promise<Visit> {
  const { gateway, token, sandbox } = (await (await fetch(`${url}/settings.json`)).json()) as {
    gateway: string;
    token: string;
    sandbox: { links: string; market: string };
  };
  // The pictures of codes and the buttons of failures are the sandbox's.
  const known = [url, gateway, sandbox.links, sandbox.market];
  const browser = await openBrowser();
  const elsewhere: string[] = [];
  const complaints: string[] = [];
  return {
    url,
    elsewhere,
    complaints,
    async open({ scheme, width } = { scheme: 'light', width: 1280 }, script) {
      const viewport = { width, height: width === 390 ? 844 : 800 };
      const javaScriptEnabled = script === undefined;
      const page = await browser.newPage({ colorScheme: scheme, viewport, javaScriptEnabled });
      page.on('request', (request) => {
        const target = new URL(request.url());
        const own = known.includes(target.origin) || target.protocol === 'blob:';
        if (!own) elsewhere.push(target.href);
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      await page.goto(url);
      return page;
    },
    async ask(query) {
      const response = await fetch(`${gateway}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query }),
      });
      return response.json() as Promise<{ data: never }>;
    },
    close: () => browser.close(),
  };
}

/** Keeps the link API from answering these requests until the function that comes back is called. */
export function hold(
  { sandbox }: DashboardWorld,
  requests: Partial<Pick<Fault, 'method' | 'path' | 'times'>> = {},
): () => void {
  let release = (): void => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  sandbox.links.fault({ kind: 'hold', until, ...requests });
  return release;
}

/** Waits until the first view is whole: every panel that reads by itself has its receipt. */
export async function wholeView(page: Page): Promise<void> {
  for (const panel of ['account', 'qr', 'channels .items', 'usage', 'campaigns'])
    await page.locator(`.panel-${panel} .receipt`).first().waitFor();
}

/** The calls that the receipts of the first view report, each operation once. */
export async function receiptCalls(page: Page): Promise<Record<string, number>> {
  const calls = async (panel: string): Promise<number> =>
    Number(await page.locator(`.panel-${panel} .receipt`).first().getAttribute('data-calls'));
  return {
    overview: await calls('account'),
    codes: await calls('qr'),
    items: await calls('channels .items'),
    usage: await calls('usage'),
    campaigns: await calls('campaigns'),
  };
}
