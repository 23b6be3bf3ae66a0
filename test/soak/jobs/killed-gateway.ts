import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { PLENTY } from '../../support/gateway.ts';
import { GATEWAY, type Running, start } from '../../support/process.ts';

/** A job as these tests look at it. */
export interface SoakJob {
  readonly id: string;
  readonly state: string;
  readonly rowsDone: number;
  readonly rowsTotal: number | null;
  readonly failures: number;
  readonly callsSpent: number;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const JOB = 'id state rowsDone rowsTotal failures callsSpent error { code message }';

/** The built gateway on a folder that outlives it, over a sandbox in this process. */
export class KilledGateway {
  readonly sandbox: Sandbox;
  readonly #folder = mkdtempSync(join(tmpdir(), 'soak-jobs-'));
  #running: Running | null = null;
  #url = '';
  readonly #env: Readonly<Record<string, string>>;

  /** `env`: settings beside the usual ones. */
  static async start(env: Readonly<Record<string, string>> = {}): Promise<KilledGateway> {
    const sandbox = await startSandbox({ limit: { requests: PLENTY, resetFormat: 'none' } });
    const gateway = new KilledGateway(sandbox, env);
    onTestFinished(async () => {
      await gateway.kill();
      await sandbox.close();
      rmSync(gateway.#folder, { recursive: true, force: true });
    });
    await gateway.begin();
    return gateway;
  }

  private constructor(sandbox: Sandbox, env: Readonly<Record<string, string>>) {
    this.sandbox = sandbox;
    this.#env = env;
  }

  /** The URL of the latest process. */
  get url(): string {
    return this.#url;
  }

  /** Starts a process. */
  async begin(): Promise<void> {
    const { links } = this.sandbox;
    this.#running = start(process.execPath, GATEWAY, {
      cwd: '.',
      env: {
        PORT: '0',
        AUTH_MODE: 'none',
        LINKS_BASE_URL: links.url,
        LINKS_API_KEY: links.key,
        LINKS_RATE_LIMIT: String(PLENTY),
        LOG_LEVEL: 'warn',
        STATE_DIR: join(this.#folder, 'state'),
        ...this.#env,
      },
    });
    const [, url = ''] = await this.#running.says(/(http:\/\/localhost:\d+)\/graphql/);
    this.#url = url;
  }

  /** Ends the process with SIGKILL. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    running?.child.kill('SIGKILL');
    await running?.ended;
  }

  async ask<D>(query: string, variables: Readonly<Record<string, unknown>> = {}): Promise<D> {
    const response = await fetch(`${this.#url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as { data: D; errors?: unknown };
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  }

  async startExport(query: string): Promise<string> {
    const { startExport } = await this.ask<{ startExport: SoakJob }>(
      `mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { ${JOB} } } }`,
      { query },
    );
    return startExport.id;
  }

  async job(id: string): Promise<SoakJob> {
    return (await this.ask<{ job: SoakJob }>(`query($id: ID!) { job(id: $id) { ${JOB} } }`, { id }))
      .job;
  }

  /** The output of a job, or a range of it. */
  async output(id: string, range?: string): Promise<Response> {
    const { job } = await this.ask<{ job: { url: string } }>(
      'query($id: ID!) { job(id: $id) { url } }',
      { id },
    );
    return fetch(`${this.#url}${job.url}`, { headers: range === undefined ? {} : { range } });
  }

  /**
   * Kills the process at random times until a job has ended, at most `most` times; returns how often. `dice` returns an
   * integer below its argument.
   */
  async killUntilDone(id: string, most: number, dice: (sides: number) => number): Promise<number> {
    let kills = 0;
    for (;;) {
      // Real processes: there is no clock to advance.
      await pause(20 + dice(400));
      const { error, state } = await this.job(id);
      if (error) throw new Error(JSON.stringify(error));
      if (state === 'DONE') return kills;
      if (kills === most) continue;
      await this.kill();
      kills += 1;
      await this.begin();
    }
  }
}
