import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { newStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { configOf } from '../support/config.ts';
import { tempFolder } from '../support/folder.ts';
import { openFolder } from '../support/store.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { ModelAccounts } from './model-accounts.ts';

/** A point of a history, as the graph returns it. */
export interface Point {
  readonly at: string;
  readonly value: number | null;
  readonly observed: boolean;
}

/** What is selected of each point. */
export const POINT = 'at value observed';

interface Answered<D> {
  readonly data: D;
  readonly errors?: readonly { readonly message: string; readonly extensions: { code: string } }[];
  readonly extensions: { readonly upstream: { readonly calls: number } };
}

/** A gateway over a model of both APIs in virtual time. It can be killed: the next one continues with its store. */
export class SeriesWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly model: ModelAccounts;
  readonly #env: Readonly<Record<string, string>>;
  readonly #folder = tempFolder();
  readonly #gateways: Gateway[] = [];
  #store: Store | null = null;
  #kills = 0;
  #log = '';

  private constructor(clock: VirtualClock, model: ModelAccounts, env: Record<string, string>) {
    this.clock = clock;
    this.model = model;
    this.#env = env;
  }

  /** Starts one with these settings besides its own. */
  static async start(env: Record<string, string> = {}): Promise<SeriesWorld> {
    const world = await SeriesWorld.#create(env);
    await world.begin();
    return world;
  }

  /** Starts one that is neither stopped nor killed: virtual time does not wait for a disk. */
  static async startInMemory(env: Record<string, string>): Promise<SeriesWorld> {
    const world = await SeriesWorld.#create(env);
    await world.#open(newStore(world.clock));
    return world;
  }

  static async #create(env: Record<string, string>): Promise<SeriesWorld> {
    const clock = new VirtualClock();
    return new SeriesWorld(clock, await ModelAccounts.start(clock), env);
  }

  /** Begins a gateway with the store of the one before. */
  async begin(): Promise<void> {
    await this.#open(await openFolder(this.#storeFolder, this.clock));
  }

  async #open(store: Store): Promise<void> {
    const config = configOf({
      ...this.model.env,
      STATE_DIR: join(this.#folder, `state-${this.#kills}`),
      shutdownGraceMs: '0',
      ...this.#env,
    });
    const log = { write: (line: string) => void (this.#log += line) };
    this.#store = store;
    this.#gateways.push(await createGateway(config, { clock: this.clock, log, store }));
  }

  get #storeFolder(): string {
    return join(this.#folder, `store-${this.#kills}`);
  }

  /** What the store has of the history of counts, by key. */
  async saved(): Promise<Map<string, string>> {
    const saved = new Map<string, string>();
    const all = this.#store?.read({ from: 'counts', to: 'counu' }) ?? [];
    for await (const [key, value] of all) saved.set(key, value.toString());
    return saved;
  }

  /** Ends the gateway as a supervisor does, puts a value into its store, and begins the next one. */
  async restart(key?: string, value = ''): Promise<void> {
    await this.stop();
    if (key !== undefined) {
      const store = await openFolder(this.#storeFolder, this.clock);
      store.put(key, value);
      await store.close();
    }
    await this.begin();
  }

  /** Ends the gateway without a word, and begins another that finds the store as it was at that moment. */
  async kill(): Promise<void> {
    await this.#store?.committed();
    const folder = this.#storeFolder;
    this.#kills += 1;
    cpSync(folder, this.#storeFolder, { recursive: true });
    await this.begin();
  }

  /** Ends the gateway as a supervisor does. */
  async stop(): Promise<void> {
    await this.#gateways.pop()?.close();
  }

  async ask<D>(query: string, headers: Record<string, string> = {}): Promise<Answered<D>> {
    const gateway = this.#gateways.at(-1) as Gateway;
    const request = new Request('http://gateway/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });
    const response = await gateway.fetch(request);
    return (await response.json()) as Answered<D>;
  }

  /** Sends an operation that must succeed. */
  async data<D>(query: string, headers?: Record<string, string>): Promise<D> {
    const { data, errors } = await this.ask<D>(query, headers);
    if (errors) throw new Error(JSON.stringify(errors, null, 2));
    return data;
  }

  /** What was logged as a warning or an error about the history of counts. */
  get complaints(): string[] {
    return this.#log
      .split('\n')
      .filter(Boolean)
      .map((line) => String(JSON.parse(line).msg))
      .filter((message) => /history of counts|HISTORY_/.test(message));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const gateway of this.#gateways) await gateway.close();
    await this.model[Symbol.asyncDispose]();
  }
}
