import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GATEWAY, type Running, start } from '../process.ts';

/** What a gateway answered, as far as these tests look at it. */
export interface ReplicaAnswer {
  readonly status: number;
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly extensions?: { readonly code?: string; readonly retryAfterMs?: number };
  }[];
  readonly extensions?: {
    readonly idempotency?: readonly { readonly outcome: string }[];
    readonly upstream?: {
      readonly calls: number;
      readonly stale: number;
      readonly maxAgeMs: number;
      readonly saved: { readonly cache: number; readonly coalesced: number };
      readonly waitedMs: number;
    };
  };
}

/** A question to a gateway. */
export interface Question {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds after which the asker hangs up; default 30 000. */
  readonly patienceMs?: number;
}

/** One built gateway in a process of its own, which can be killed, stopped and started again. */
export class Replica implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  #running: Running;
  /** What the processes before this one have said. */
  #before = '';
  #url = '';
  /** Whether this process of it has come so far. */
  #isListening = false;

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
    this.#running = this.#start();
  }

  get pid(): number {
    return this.#running.child.pid ?? 0;
  }

  /** Where it listens; empty until it has said so. */
  get url(): string {
    return this.#url;
  }

  /** All that it has logged, over all its lives. */
  output(): string {
    return this.#before + this.#running.output();
  }

  /** Resolves when this life of it has logged something like this. */
  async says(pattern: RegExp): Promise<void> {
    await this.#running.says(pattern);
  }

  /** Waits until it listens. */
  async listens(): Promise<void> {
    const [, url = ''] = await this.#running.says(/(http:\/\/localhost:\d+)\/graphql/);
    this.#url = url.replace('localhost', '127.0.0.1');
    this.#isListening = true;
  }

  /** Whether it takes traffic, and what it has to say about itself. */
  async readiness(): Promise<{ status: number; body: Readonly<Record<string, unknown>> }> {
    const response = await fetch(`${this.#url}/readyz`, { signal: AbortSignal.timeout(30_000) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** @throws Error when it cannot be reached or does not answer in time. */
  async ask({ query, variables, headers, patienceMs = 30_000 }: Question): Promise<ReplicaAnswer> {
    const response = await fetch(`${this.#url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const body = (await response.json()) as Omit<ReplicaAnswer, 'status'>;
    return { status: response.status, ...body };
  }

  /** Ends it by a signal; resolves when it has ended. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | NodeJS.Signals | null> {
    this.#running.child.kill(signal);
    return this.#running.ended;
  }

  /** Starts it again after it has ended; resolves when it listens. */
  async begin(): Promise<void> {
    this.#before += this.#running.output();
    this.#isListening = false;
    this.#running = this.#start();
    await this.listens();
  }

  /** Stops it where it is, as a machine does that goes to sleep. */
  stop(): void {
    this.#running.child.kill('SIGSTOP');
  }

  /** Lets it go on. */
  continue(): void {
    this.#running.child.kill('SIGCONT');
  }

  /**
   * It stops itself at its next request, when all its checks are done and nothing has been written. One that is still
   * starting is left alone: before it handles the signal, it would end.
   */
  stopAtNextRequest(): void {
    if (this.#isListening) this.#running.child.kill('SIGUSR2');
  }

  /** Whether it is stopped now; one that has ended is not. */
  get stopped(): boolean {
    try {
      // The state stands behind the name, which ends with the last parenthesis.
      return /.*\) T/s.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8'));
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }

  #start(): Running {
    const inside = fileURLToPath(new URL('inside.mjs', import.meta.url));
    return start(process.execPath, ['--import', inside, ...GATEWAY], {
      cwd: '.',
      env: this.#env,
    });
  }
}
