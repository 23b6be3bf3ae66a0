import { createGateway, type Gateway } from '../../src/gateway.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { closing } from './closing.ts';
import { configOf } from './config.ts';
import { exchange } from './exchange.ts';
import { type AnswerError, openSandbox, PLENTY, type Row } from './gateway.ts';
import { VirtualClock } from './virtual-clock.ts';

/** What came back through the socket. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly data: Row | null | undefined;
  readonly errors: readonly AnswerError[];
  /** The code of the first error. */
  readonly code: string | undefined;
}

/** A gateway as the network sees it, over a sandbox, in a time that a test moves. */
export interface Door {
  readonly gateway: Gateway;
  readonly url: string;
  readonly sandbox: Sandbox;
  readonly clock: VirtualClock;
  /** Requests that reached either API so far. */
  calls(): number;
  /** What the operator was told so far. */
  log(): string;
  /** Sends one operation, with a bearer token unless it is `null`. */
  ask(query: string, token?: string | null, more?: Asking): Promise<Reply>;
  /** Sends a request as it is. */
  send(path: string, init?: RequestInit): Promise<Reply>;
  close(): Promise<void>;
}

interface Asking {
  readonly variables?: Row;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts one, which is closed with the test or its file. Both APIs are configured, under limits out of the way; `env` adds to that or takes away. */
export async function openDoor(
  env: Readonly<Record<string, string>>,
  options: { readonly sandbox?: SandboxOptions; readonly on?: Sandbox } = {},
): Promise<Door> {
  const clock = new VirtualClock();
  const { on } = options;
  const sandbox = on ?? (await openSandbox(options.sandbox));
  const { links, market } = sandbox;
  let log = '';
  const config = configOf({
    PORT: '0',
    LINKS_BASE_URL: links.url,
    ...(env['AUTH_MODE'] === 'passthrough' ? {} : { LINKS_API_KEY: links.key }),
    MARKET_BASE_URL: market.url,
    MARKET_API_KEY: market.key,
    LINKS_RATE_LIMIT: String(PLENTY),
    MARKET_RATE_LIMIT: String(PLENTY),
    ...env,
  });
  const gateway = await createGateway(config, {
    clock,
    log: { write: (line) => void (log += line) },
    // As their sources are: what they load is there only once it is built.
    pages: 'pages',
  });
  const url = (await gateway.listen()).url.replace('localhost', '127.0.0.1');
  const door: Door = {
    gateway,
    url,
    sandbox,
    clock,
    calls: () => links.requests.length + market.requests.length,
    log: () => log,
    ask: (query, token = null, { variables, headers } = {}) =>
      door.send('/graphql', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/graphql-response+json',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: JSON.stringify({ query, variables }),
      }),
    async send(path, init) {
      const { text, ...response } = await exchange(url + path, init);
      const json = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
      const answer = json ? JSON.parse(text) : {};
      // A batch is answered with a list, in which one is like the other.
      const { data, errors = [] } = Array.isArray(answer) ? answer[0] : answer;
      const { status, headers } = response;
      return { status, headers, text, data, errors, code: errors[0]?.extensions?.code };
    },
    close: closing(async () => {
      await gateway.close();
      if (!on) await sandbox.close();
    }),
  };
  return door;
}
