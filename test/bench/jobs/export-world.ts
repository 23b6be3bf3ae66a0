import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { keysAreNew } from '../../../src/upstream/budget/journal/journal.ts';
import { PLENTY, startWorld, type World } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** Requests that a minute allows. */
export const LIMIT = 30;

/** A job as far as these benches look at it. */
export interface BenchJob {
  readonly id: string;
  readonly state: string;
  readonly rowsDone: number;
  readonly rowsTotal: number | null;
  readonly callsSpent: number;
  readonly callsLeft: number | null;
  readonly readyAt: string | null;
}

const JOB = 'id state rowsDone rowsTotal callsSpent callsLeft readyAt';

/** In memory, so that a step takes no virtual time: there is no other clock for a disk. */
const FAST = '/dev/shm';

/** A gateway with jobs under the real limit, over a sandbox without one, in virtual time. */
export async function exportWorld(env: Readonly<Record<string, string>> = {}) {
  const clock = new VirtualClock();
  const folder = mkdtempSync(join(existsSync(FAST) ? FAST : tmpdir(), 'bench-jobs-'));
  const sandbox = await startSandbox({
    clock,
    limit: { requests: PLENTY, resetFormat: 'none' },
  });
  const world: World = await startWorld({
    clock,
    on: sandbox,
    only: 'links',
    journal: { ...keysAreNew, folder },
    env: { LINKS_RATE_LIMIT: String(LIMIT), ...env },
  });
  const ask = async (query: string, variables: Readonly<Record<string, unknown>>) => {
    const { data, errors } = await world.ask<Record<string, BenchJob>>(query, variables);
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    return Object.values(data)[0] as BenchJob;
  };
  return {
    ...world,
    clock,
    /** Adds rows of a list at the API, without the gateway. */
    async add(path: string, body: (at: number) => unknown, count: number): Promise<void> {
      const headers = {
        authorization: `Bearer ${sandbox.links.key}`,
        'content-type': 'application/json',
      };
      for (let at = 0; at < count; at += 50) {
        const some = Array.from({ length: Math.min(50, count - at) }, (_, index) => at + index);
        await Promise.all(
          some.map(async (each) => {
            const response = await fetch(`${sandbox.links.url}/api/${path}`, {
              method: 'POST',
              headers,
              body: JSON.stringify(body(each)),
            });
            await response.text();
          }),
        );
      }
      sandbox.links.clearLog();
    },
    start: (query: string) =>
      ask(
        `mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { ${JOB} } } }`,
        { query },
      ),
    job: (id: string) => ask(`query($id: ID!) { job(id: $id) { ${JOB} } }`, { id }),
    async close() {
      const closing = world.close();
      await clock.advance(60_000);
      await closing;
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
