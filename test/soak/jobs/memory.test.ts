import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { GatewayProcess } from '../../bench/attacks/gateway-process.ts';
import { tempFolder } from '../../support/folder.ts';
import { PLENTY } from '../../support/gateway.ts';

const MB = 2 ** 20;
/** `npm run soak:jobs` exports 20,000 rows. */
const rows = Number(process.env['JOBS_ROWS'] ?? 600);
const TIME_MS = 180_000 + 20 * rows;
const EXPORT = '{ channels { nodes { id name databaseId } } }';

it('an export needs little memory, whatever its size', { timeout: TIME_MS }, async () => {
  const bytes = await memoryOf(rows);
  console.info(`memory: ${rows} rows ${(bytes / MB).toFixed(1)} MB`);
  expect(bytes).toBeLessThan(8 * MB);
});

/** How much more a gateway holds at most during an export of this number of rows. */
async function memoryOf(count: number): Promise<number> {
  const sandbox = await startSandbox({ limit: { requests: PLENTY, resetFormat: 'none' } });
  const folder = tempFolder();
  const { links } = sandbox;
  const words = 'of many words '.repeat(10);
  for (let at = 0; at < count; at += 50) {
    await Promise.all(
      Array.from({ length: Math.min(50, count - at) }, async (_, index) => {
        const response = await fetch(`${links.url}/api/channel/add`, {
          method: 'POST',
          headers: { authorization: `Bearer ${links.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name: `channel ${at + index} ${words}` }),
        });
        await response.text();
      }),
    );
  }
  links.clearLog();
  // As far away as a real one: it is looked at while it runs.
  links.fault({ kind: 'slow', delayMs: 100 });
  const gateway = await GatewayProcess.start({
    AUTH_MODE: 'none',
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.key,
    LINKS_RATE_LIMIT: String(PLENTY),
    STATE_DIR: join(folder, 'state'),
  });
  onTestFinished(async () => {
    await gateway.kill();
    await sandbox.close();
  });
  const ask = async <D>(query: string, variables: Readonly<Record<string, unknown>> = {}) => {
    const response = await fetch(new URL('/graphql', gateway.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    return ((await response.json()) as { data: D }).data;
  };
  const exported = async (query: string, look: (rowsDone: number) => Promise<unknown>) => {
    const { startExport } = await ask<{ startExport: { id: string } }>(
      'mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { id } } }',
      { query },
    );
    for (;;) {
      const { job } = await ask<{ job: { state: string; rowsDone: number } }>(
        'query($id: ID!) { job(id: $id) { state rowsDone } }',
        startExport,
      );
      if (job.state === 'DONE') return job.rowsDone;
      if (job.state !== 'QUEUED' && job.state !== 'RUNNING') throw new Error(job.state);
      await look(job.rowsDone);
    }
  };
  /** What it holds after a collection, once it has the time to say so. */
  const held = async (): Promise<number> => (await gateway.inside())?.held ?? held();
  // Until a scrape, or for two seconds, it holds the events that its metrics count.
  await (await fetch(new URL('/metrics', gateway.url))).text();
  await exported('{ pixels { nodes { id name databaseId } } }', async () => pause(50));
  const before = await held();
  const looks: number[] = [];
  const done = await exported(EXPORT, async (rowsDone) => {
    if (rowsDone >= (looks.length + 1) * (count / 4)) looks.push(await held());
  });
  expect(done).toBeGreaterThanOrEqual(count);
  expect(looks.length).toBeGreaterThan(1);
  return Math.max(...looks) - before;
}
