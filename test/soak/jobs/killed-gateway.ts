import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { PLENTY } from '../../support/gateway.ts';
import { type Household, type Member, openHousehold } from '../../support/two-processes.ts';

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

/** Built gateways on one store, over a sandbox in this process. The first owns it, and is the one that is ended. */
export class KilledGateway {
  readonly sandbox: Sandbox;
  readonly #house: Household;
  readonly #members: Member[] = [];

  /** `env`: settings beside the usual ones. `count`: how many processes there are at a time. */
  static async start(
    env: Readonly<Record<string, string>> = {},
    count = 1,
  ): Promise<KilledGateway> {
    const limit = { requests: PLENTY, resetFormat: 'none' } as const;
    const gateway = new KilledGateway(await openHousehold({ LOG_LEVEL: 'warn', ...env }, limit));
    onTestFinished(() => gateway.#house.close());
    while (gateway.#members.length < count) await gateway.#join();
    return gateway;
  }

  private constructor(house: Household) {
    this.sandbox = house.sandbox;
    this.#house = house;
  }

  /** Where all is asked: the latest process, which forwards to the owner if it is not the only one. */
  get #url(): string {
    return this.#members.at(-1)?.url ?? '';
  }

  async #join(): Promise<void> {
    this.#members.push(await this.#house.join());
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
  async output(id: string, range?: string, from = this.#url): Promise<Response> {
    const { job } = await this.ask<{ job: { url: string } }>(
      'query($id: ID!) { job(id: $id) { url } }',
      { id },
    );
    return fetch(`${from}${job.url}`, { headers: range === undefined ? {} : { range } });
  }

  /** The output of a job through each process. */
  outputs(id: string): Promise<Buffer[]> {
    return Promise.all(
      this.#members.map(async ({ url }) => {
        return Buffer.from(await (await this.output(id, undefined, url)).arrayBuffer());
      }),
    );
  }

  /**
   * Kills or stops the owner at random times until a job has ended, at most `most` times; returns how often. `dice` returns
   * an integer below its argument.
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
      const owner = this.#members.shift();
      await (dice(3) === 0 ? owner?.stop() : owner?.kill());
      kills += 1;
      await this.#join();
    }
  }
}

/** The items of all channels. */
export const NESTED = `{ channels { nodes { id name items(first: 100) { nodes {
  ... on LinkItem { id title } ... on QrItem { id title } ... on BioItem { id title }
} } } } }`;

/**
 * Exports on new stores whose owners are killed and stopped at random times, `kills` in all. Fails unless each output is
 * that of an undisturbed export, through each process, and cost at most two requests more for each kill.
 */
export async function exportTheSame(
  kills: number,
  dice: (sides: number) => number,
  begin: () => Promise<KilledGateway>,
): Promise<void> {
  const exported = async (most: number) => {
    const gateway = await begin();
    const { links } = gateway.sandbox;
    links.fault({ kind: 'slow', delayMs: most > 0 ? 60 : 0 });
    const id = await gateway.startExport(NESTED);
    const killed = await gateway.killUntilDone(id, most, dice);
    return { calls: links.requests.length, kills: killed, outputs: await gateway.outputs(id) };
  };
  const undisturbed = await exported(0);
  const [output] = undisturbed.outputs;
  let calls = 0;
  let killed = 0;
  // Each export is long enough for some kills only.
  while (killed < kills) {
    const run = await exported(kills - killed);
    for (const each of run.outputs) expect(each.equals(output ?? Buffer.alloc(0))).toBe(true);
    // What was under way at a kill is sent again, and what was before it if its response was not saved yet.
    expect(run.calls).toBeLessThanOrEqual(undisturbed.calls + 2 * run.kills);
    calls += run.calls - undisturbed.calls;
    killed += run.kills;
  }
  console.info(`${killed} kills and stops, ${calls} more requests than undisturbed`);
}
