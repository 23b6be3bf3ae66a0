import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { configOf } from '../support/config.ts';
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

/** A gateway over a model of both APIs in virtual time. It can be killed: the next one continues with its files. */
export class SeriesWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly model: ModelAccounts;
  readonly #env: Readonly<Record<string, string>>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'series-'));
  readonly #gateways: Gateway[] = [];
  #log = '';

  private constructor(clock: VirtualClock, model: ModelAccounts, env: Record<string, string>) {
    this.clock = clock;
    this.model = model;
    this.#env = env;
  }

  /** Starts one with these settings besides its own. */
  static async start(env: Record<string, string> = {}): Promise<SeriesWorld> {
    const clock = new VirtualClock();
    const world = new SeriesWorld(clock, await ModelAccounts.start(clock), env);
    await world.begin();
    return world;
  }

  /** Begins a gateway in the folder of the current one, or in a new folder for one that was killed. */
  async begin(): Promise<void> {
    const config = configOf({
      ...this.model.env,
      STATE_DIR: this.folder,
      shutdownGraceMs: '0',
      // Otherwise the console writes its own history every minute.
      ...this.#env,
    });
    const log = { write: (line: string) => void (this.#log += line) };
    this.#gateways.push(await createGateway(config, { clock: this.clock, log }));
  }

  /** The folder of the current gateway. */
  get folder(): string {
    return join(this.#folder, String(this.#folders));
  }

  /** The file with the history of counts. */
  get file(): string {
    return join(this.folder, 'counts.log');
  }

  #folders = 0;

  /** The text of that file. */
  get saved(): string {
    return readFileSync(this.file, 'utf8');
  }

  /** Ends the gateway without a word, and begins another that finds the file as it was at that moment. */
  async kill(): Promise<void> {
    const { file } = this;
    this.#folders += 1;
    mkdirSync(this.folder);
    if (existsSync(file)) cpSync(file, this.file);
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
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
