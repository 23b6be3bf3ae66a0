import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { PLENTY } from '../../support/gateway.ts';
import { GatewayProcess, type Inside } from '../attacks/gateway-process.ts';
import { ranBefore } from '../ran-before.ts';
import { type Pages, pagesOf } from './pages.ts';
import { Viewers } from './viewers.ts';

interface SceneOptions {
  /** What the link API allows, and the gateway knows of; without it, everything. */
  readonly limit?: { readonly requests: number; readonly windowMs: number };
  readonly env?: Readonly<Record<string, string>>;
}

/** How viewers ask for events. */
const accepts = {
  plain: 'text/event-stream',
  age: 'text/event-stream;live=age',
} as const;

const rename =
  'mutation ($input: UpdateChannelInput!) { updateChannel(input: $input) { __typename } }';

/** A built gateway in a process of its own, over a sandbox in this one, and pages to look at. */
export class Scene implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly pages: Pages;
  readonly #gateway: GatewayProcess;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #viewers: Viewers[] = [];
  /** Made so far. */
  changes = 0;

  private constructor(sandbox: Sandbox, pages: Pages, gateway: GatewayProcess) {
    this.sandbox = sandbox;
    this.pages = pages;
    this.#gateway = gateway;
  }

  static async set({ env, limit = { requests: PLENTY, windowMs: 60_000 } }: SceneOptions = {}) {
    const sandbox = await startSandbox({ limit: { ...limit, mode: 'sliding' } });
    const pages = await pagesOf(sandbox);
    const gateway = await GatewayProcess.start({
      LOG_LEVEL: 'silent',
      AUTH_MODE: 'none',
      STATE_DIR: await ranBefore(),
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      LINKS_RATE_LIMIT: String(limit.requests),
      LINKS_RATE_WINDOW_MS: String(limit.windowMs),
      ...env,
    });
    return new Scene(sandbox, pages, gateway);
  }

  get url(): string {
    return this.#gateway.url;
  }

  /** Viewers of all pages by turns, or of others; none of them is there yet. */
  viewers(accept: keyof typeof accepts, bodies = this.pages.bodies): Viewers {
    const port = Number(new URL(this.url).port);
    const viewers = new Viewers({ port, bodies, accept: accepts[accept] });
    this.#viewers.push(viewers);
    return viewers;
  }

  /** Gives the channel that all pages show another name; answers with it, and when that was answered. */
  async change(): Promise<{ readonly name: string; readonly at: number }> {
    this.changes += 1;
    const name = `Changed ${this.changes} times`;
    const variables = { input: { id: String(this.pages.channel), name } };
    const answer = await this.#ask('/graphql', JSON.stringify({ query: rename, variables }));
    const at = performance.now();
    if (!answer.includes('"Channel"')) throw new Error(answer);
    return { name, at };
  }

  /** Runs of live queries so far. */
  async runs(): Promise<number> {
    return Number(/^gateway_live_runs_total (\d+)/m.exec(await this.#ask('/metrics'))?.[1]);
  }

  /** What the gateway holds, after a collection. */
  async inside(): Promise<Inside> {
    const inside = await this.#gateway.inside();
    if (!inside) throw new Error('the gateway does not say what it holds');
    return inside;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const viewers of this.#viewers) viewers.close();
    this.#agent.destroy();
    await this.#gateway.kill();
    await this.sandbox.close();
  }

  #ask(path: string, body?: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request(this.url + path, {
        method: body === undefined ? 'GET' : 'POST',
        agent: this.#agent,
        headers: { 'content-type': 'application/json' },
      });
      sent.on('error', reject);
      sent.on('response', (response) => resolve(text(response)));
      sent.end(body);
    });
  }
}
