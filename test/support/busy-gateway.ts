import { join } from 'node:path';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Clock, systemClock } from '../../src/scheduling/clock.ts';
import { closing } from './closing.ts';
import { configOf } from './config.ts';
import { openFolder } from './store.ts';
import { until } from './uploads.ts';

/** A whole gateway on real sockets over a sandbox that the test holds in its hands. */
export interface BusyGateway {
  readonly gateway: Gateway;
  readonly sandbox: Sandbox;
  readonly url: string;
  /** Where metrics and console are. */
  readonly operatorsUrl: string;
  /** What was logged so far, in order. */
  lines(): Record<string, unknown>[];
  /** What was logged so far, as it was written. */
  log(): string;
  ask(query: string, options?: AskOptions): Promise<AskedAnswer>;
  close(): Promise<void>;
}

interface AskOptions {
  readonly variables?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

interface AskedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly { readonly extensions?: Readonly<Record<string, unknown>> }[];
}

interface BusyOptions {
  readonly clock?: Clock;
  readonly pages?: string;
  /** Of the test, which closes it. */
  readonly sandbox?: Sandbox;
}

/**
 * Starts one with these settings, beside those that point it at the sandbox; it is closed with the test or its file. It
 * remembers what it has spent where `STATE_DIR` is among them.
 */
export async function busyGateway(
  env: Readonly<Record<string, string>> = {},
  options: BusyOptions = {},
): Promise<BusyGateway> {
  const { clock = systemClock, pages } = options;
  const sandbox = options.sandbox ?? (await startSandbox({ clock }));
  let log = '';
  const folder = env['STATE_DIR'] ?? 'off';
  const gateway = await createGateway(
    configOf({
      PORT: '0',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      MARKET_BASE_URL: sandbox.market.url,
      MARKET_API_KEY: sandbox.market.key,
      AUTH_MODE: 'none',
      ...env,
    }),
    {
      clock,
      ...(pages === undefined ? {} : { pages }),
      ...(folder === 'off' ? {} : { store: await openFolder(join(folder, 'store'), clock) }),
      log: { write: (line) => void (log += line) },
    },
  );
  const { operatorsUrl, url } = await gateway.listen();
  return {
    gateway,
    sandbox,
    url,
    operatorsUrl,
    log: () => log,
    lines: () =>
      log
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async ask(query, { variables, headers } = {}) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query, variables }),
      });
      const body = (await response.json()) as Pick<AskedAnswer, 'data' | 'errors'>;
      return { status: response.status, headers: response.headers, ...body };
    },
    close: closing(async () => {
      await gateway.close();
      if (!options.sandbox) await sandbox.close();
    }),
  };
}

/** Resolves when a request has reached the upstream, and not before. */
export async function arrival(sandboxApi: {
  readonly requests: readonly unknown[];
}): Promise<void> {
  await until(() => sandboxApi.requests.length > 0);
}

/** Whether a connection to an address is refused. */
export async function isRefused(url: string): Promise<boolean> {
  return fetch(url).then(
    () => false,
    () => true,
  );
}
