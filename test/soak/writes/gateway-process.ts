import { GATEWAY, type Running, start } from '../../support/process.ts';

/** What a gateway answered, as far as these tests look at it. */
export interface GatewayAnswer {
  readonly status: number;
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly extensions?: { readonly code?: string; readonly retryAfterMs?: number };
  }[];
}

/** A question to a gateway. */
export interface Question {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds after which the asker hangs up; default 30 000. */
  readonly patienceMs?: number;
}

/** One built gateway in a process of its own, which can be killed and started again. */
export class GatewayProcess implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  #running: Running;
  /** What the processes before this one have said. */
  #before = '';
  #url = '';

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
    this.#running = this.#start();
  }

  /** Where it listens; empty until it has said so. */
  get url(): string {
    return this.#url;
  }

  /** All that it has logged, over all its lives. */
  output(): string {
    return this.#before + this.#running.output();
  }

  /** Waits until it listens. */
  async listens(): Promise<void> {
    const [, url = ''] = await this.#running.says(/(http:\/\/localhost:\d+)\/graphql/);
    this.#url = url.replace('localhost', '127.0.0.1');
  }

  /** @throws Error when it cannot be reached or does not answer in time. */
  async ask({ query, variables, headers, patienceMs = 30_000 }: Question): Promise<GatewayAnswer> {
    const response = await fetch(`${this.#url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const body = (await response.json()) as Omit<GatewayAnswer, 'status'>;
    return { status: response.status, ...body };
  }

  /** Kills it; resolves when it has ended. */
  async kill(): Promise<void> {
    this.#running.child.kill('SIGKILL');
    await this.#running.ended;
  }

  /** Starts it again after it has ended; resolves when it listens. */
  async begin(): Promise<void> {
    this.#before += this.#running.output();
    this.#running = this.#start();
    await this.listens();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #start(): Running {
    return start(process.execPath, GATEWAY, { cwd: '.', env: this.#env });
  }
}
