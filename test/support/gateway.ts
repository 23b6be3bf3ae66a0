import { createGateway, type Gateway, type Overrides } from '../../src/gateway.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ReceiptSummary } from '../../src/upstream/receipt.ts';
import { closing } from './closing.ts';
import { configOf } from './config.ts';

/** A limit that no test reaches, for gateways and sandboxes whose budget is not what is tested. */
export const PLENTY = 1_000_000;

/** One error of an answer, as a caller sees it. */
export interface AnswerError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>> & { readonly code?: string };
}

/** An answer of the gateway: parsed, and as the text that went out. */
export interface Answer<D> {
  readonly status: number;
  readonly text: string;
  /** Left out of an answer whose operation was not begun. */
  readonly data: D;
  readonly errors: readonly AnswerError[];
  /** `extensions.upstream`. */
  readonly receipt: ReceiptSummary;
}

/** A gateway over a sandbox, spoken to as the world does: GraphQL in, HTTP over sockets out. */
export interface World {
  readonly sandbox: Sandbox;
  readonly gateway: Gateway;
  /** Sends one operation through the gateway's front door. */
  readonly ask: <D = Row>(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
    /** Aborts when the caller hangs up. */
    signal?: AbortSignal,
  ) => Promise<Answer<D>>;
  /** Sends one operation, and fails unless the answer is without errors. */
  readonly data: <D = Row>(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
  ) => Promise<D>;
  /** Requests that the gateway has sent to both APIs since `forgetCalls`, by the sandbox's own count. */
  readonly calls: () => string[];
  readonly forgetCalls: () => void;
  /** Asks the link API itself, without the gateway, and reads its JSON. */
  readonly links: <T = Row>(path: string) => Promise<T>;
  /** Asks the marketplace API itself. */
  readonly market: <T = Row>(path: string) => Promise<T>;
  readonly close: () => Promise<void>;
}

/** A row as an upstream sends it: a test knows what it expects there. */
export type Row = Readonly<Record<string, unknown>>;

/** A connection of the graph, as far as a test has selected it. */
export interface Connection<Node> {
  readonly nodes: readonly Node[];
  readonly edges: readonly { readonly cursor: string; readonly node: Node }[];
  readonly totalCount: number | null;
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

/** How a world differs from the usual one. */
export interface WorldOptions extends Overrides {
  /** Of the gateway, beside the base URLs and keys. */
  readonly env?: Readonly<Record<string, string>>;
  readonly sandbox?: SandboxOptions;
  /** A sandbox that others use too: it is not closed with this world. */
  readonly on?: Sandbox;
  /** Only this API is configured. */
  readonly only?: 'links' | 'market';
}

/** By this the gateway's requests are told from those that a test sends itself. */
const TEST_AGENT = 'a test';

/** On a connection of its own: one kept over seconds may be closed just when it is used again. */
const CLOSING = { 'user-agent': TEST_AGENT, connection: 'close' };

/** Starts a sandbox with a rate limit that is out of the way, which is closed with the test or its file. */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ limit: { requests: PLENTY }, ...options });
  const close = closing(() => sandbox.close());
  return Object.assign(sandbox, { close });
}

/** Starts a sandbox and a gateway on it, which are closed with the test or its file, each with a rate limit that is out of the way. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { env, on, only, sandbox: sandboxOptions, ...overrides } = options;
  const sandbox = on ?? (await openSandbox(sandboxOptions));
  const { links, market } = sandbox;
  const config = configOf({
    AUTH_MODE: 'none',
    LINKS_RATE_LIMIT: String(PLENTY),
    MARKET_RATE_LIMIT: String(PLENTY),
    ...(only === 'market' ? {} : { LINKS_BASE_URL: links.url, LINKS_API_KEY: links.key }),
    ...(only === 'links' ? {} : { MARKET_BASE_URL: market.url, MARKET_API_KEY: market.key }),
    ...env,
  });
  const gateway = await createGateway(config, overrides);
  const world: World = {
    sandbox,
    gateway,
    async ask(query, variables, headers, signal) {
      const response = await gateway.fetch(
        new Request('http://gateway/graphql', {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/graphql-response+json',
            ...headers,
          },
          body: JSON.stringify({ query, variables }),
          signal: signal ?? null,
        }),
      );
      const text = await response.text();
      const { data, errors, extensions } = JSON.parse(text);
      return {
        status: response.status,
        text,
        data,
        errors: errors ?? [],
        receipt: extensions?.upstream,
      };
    },
    async data(query, variables) {
      const { data, errors } = await world.ask(query, variables);
      if (errors.length > 0) throw new Error(JSON.stringify(errors, null, 2));
      return data as never;
    },
    calls: () =>
      [...links.requests, ...market.requests]
        .filter(({ headers }) => headers['user-agent'] !== TEST_AGENT)
        .map(({ body, method, path, query }) => {
          const { api_key: _, ...others } = query;
          // Each code of a purchase has a request of its own.
          const code = /"purchase_code":"(.*?)"/.exec(JSON.stringify(body) ?? '')?.[1];
          const rest = { ...others, ...(code !== undefined && { code }) };
          return `${method} ${path}${Object.keys(rest).length > 0 ? `?${new URLSearchParams(rest)}` : ''}`;
        }),
    forgetCalls() {
      links.clearLog();
      market.clearLog();
    },
    async links(path) {
      const authorization = `Bearer ${links.key}`;
      const headers = { ...CLOSING, authorization };
      return (await fetch(`${links.url}${path}`, { headers })).json() as Promise<never>;
    },
    async market(path) {
      const url = `${market.url}${path}${path.includes('?') ? '&' : '?'}api_key=${market.key}`;
      return (await fetch(url, { headers: CLOSING })).json() as Promise<never>;
    },
    close: closing(async () => {
      await gateway.close();
      if (!on) await sandbox.close();
    }),
  };
  return world;
}
