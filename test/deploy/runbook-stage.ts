import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { probe } from '../../src/commands/probe.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { newStore, openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { configOf } from '../support/config.ts';
import { tempFolder } from '../support/folder.ts';
import { sectionAt } from '../support/readme.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { alerts } from './files.ts';

interface Answered {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions: Record<string, unknown>;
  }[];
}

/** A gateway of one test file, whose operator follows what alerts and pages say. */
export class RunbookStage {
  readonly clock = new VirtualClock();
  readonly folder = tempFolder();
  /** Over the sandbox that each test begins with. */
  sandbox!: Sandbox;
  url = '';
  operatorsUrl = '';
  log = '';
  #env: Record<string, string> = {};
  #gateway: Gateway | undefined;

  constructor() {
    beforeEach(async () => {
      this.log = '';
      this.#env = {
        AUTH_MODE: 'none',
        STATE_DIR: 'off',
        'ttl.account': '0',
        staleWhileRevalidateMs: '0',
        STALE_IF_ERROR_MS: '0',
      };
      this.#use(await startSandbox({ clock: this.clock }));
    });
    afterEach(async () => {
      await this.#gateway?.close();
      await this.sandbox.close();
    });
  }

  /** Replaces the sandbox by one that grants this many requests. */
  async grant(requests: number): Promise<void> {
    await this.sandbox.close();
    this.#use(await startSandbox({ clock: this.clock, limit: { requests } }));
    this.#env['LINKS_RATE_LIMIT'] = String(requests);
  }

  #use(sandbox: Sandbox): void {
    const { links, market } = sandbox;
    this.sandbox = sandbox;
    Object.assign(this.#env, {
      LINKS_BASE_URL: links.url,
      LINKS_API_KEY: links.key,
      MARKET_BASE_URL: market.url,
      MARKET_API_KEY: market.key,
    });
  }

  /** Starts the gateway, again where one runs, with further settings. */
  async start(more: Record<string, string> = {}): Promise<void> {
    await this.#gateway?.close();
    Object.assign(this.#env, more);
    const config = configOf({ ...this.#env, PORT: '0' });
    const log = { write: (line: string) => void (this.log += line) };
    const store = await this.#store(config.stateDir);
    this.#gateway = await createGateway(config, { clock: this.clock, log, store });
    ({ operatorsUrl: this.operatorsUrl, url: this.url } = await this.#gateway.listen());
    this.#env['PORT'] = new URL(this.url).port;
  }

  /** The store of a folder; one in memory if that cannot be used. */
  async #store(folder: string | null): Promise<Store> {
    const { clock } = this;
    const complain = (sentence: string) => void (this.log += `${sentence}\n`);
    const options = { url: 'http://127.0.0.1:1', clock, complain };
    const place =
      folder === null ? null : ({ kind: 'folder', folder: join(folder, 'store') } as const);
    const opened =
      place &&
      (await openStore({ ...options, place }).catch((error: Error) => {
        complain(error.message);
      }));
    if (opened && 'waiting' in opened) throw new Error('another process owns the store');
    return opened?.owned.store ?? newStore(clock);
  }

  async ask(query: string, headers: Record<string, string> = {}): Promise<Answered> {
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as Answered;
  }

  async code(query: string): Promise<unknown> {
    return (await this.ask(query)).errors?.[0]?.extensions['code'];
  }

  async metric(series: string): Promise<number> {
    const lines = (await (await fetch(`${this.url}/metrics`)).text()).split('\n');
    const line = lines.find((each) => each.startsWith(`${series} `));
    return Number(line?.split(' ')[1] ?? Number.NaN);
  }

  errors(code: string): Promise<number> {
    return this.metric(`gateway_operation_errors_total{code="${code}"}`);
  }

  async degraded(): Promise<unknown> {
    return ((await (await fetch(`${this.url}/readyz`)).json()) as { degraded: unknown }).degraded;
  }

  /** What `check-config --probe` prints. */
  async probed(): Promise<string> {
    return (await probe(configOf(this.#env), this.clock)).lines.join('\n');
  }
}

/** What an alert says, and the section that it leads to. */
export function runbook(name: string): { readonly says: string; readonly page: string } {
  const found = alerts.find(({ alert }) => alert === name);
  if (!found) throw new Error(`there is no alert ${name}`);
  return {
    says: found.annotations['description'] ?? '',
    // On one line: where a sentence is wrapped does not matter.
    page: sectionAt(found.annotations['docs'] ?? '').replace(/\s+/g, ' '),
  };
}

/** What the page of errors says to do about a code. */
export function advice(code: string): string {
  const row = readFileSync('docs/errors.md', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`| \`${code}\``));
  if (!row) throw new Error(`there is no row for ${code}`);
  return row.split('|')[3] ?? '';
}
