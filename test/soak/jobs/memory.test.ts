import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { GatewayProcess } from '../../bench/attacks/gateway-process.ts';
import { PLENTY } from '../../support/gateway.ts';

const MB = 2 ** 20;
/** `npm run soak:jobs` exports 20,000 rows. */
const rows = Number(process.env['JOBS_ROWS'] ?? 4000);
const TIME_MS = 60_000 + 20 * rows;
const EXPORT = '{ channels { nodes { id name databaseId } } }';

it('an export needs little memory, whatever its size', { timeout: TIME_MS }, async () => {
  const few = await memoryOf(rows / 10);
  const many = await memoryOf(rows);
  const inMb = (bytes: number) => (bytes / MB).toFixed(1);
  console.info(`memory: ${rows / 10} rows ${inMb(few)} MB, ${rows} rows ${inMb(many)} MB`);
  expect(few).toBeLessThan(5 * MB);
  expect(many).toBeLessThan(5 * MB);
});

/** How much more a gateway holds at most while it exports so many rows, after a garbage collection. */
async function memoryOf(count: number): Promise<number> {
  const sandbox = await startSandbox({ limit: { requests: PLENTY, resetFormat: 'none' } });
  const folder = mkdtempSync(join(tmpdir(), 'soak-memory-'));
  const { links } = sandbox;
  for (let at = 0; at < count; at += 50) {
    await Promise.all(
      Array.from({ length: Math.min(50, count - at) }, async (_, index) => {
        const name = `channel ${at + index} ${'of many words '.repeat(10)}`;
        const response = await fetch(`${links.url}/api/channel/add`, {
          method: 'POST',
          headers: { authorization: `Bearer ${links.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name }),
        });
        await response.text();
      }),
    );
  }
  links.clearLog();
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
    rmSync(folder, { recursive: true, force: true });
  });
  const ask = async <D>(query: string, variables: Readonly<Record<string, unknown>> = {}) => {
    const response = await fetch(new URL('/graphql', gateway.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    return ((await response.json()) as { data: D }).data;
  };
  const held = async () => (await gateway.inside())?.held ?? Number.NaN;
  const start =
    'mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { id } } }';
  const exported = async (query: string, look: () => Promise<void>) => {
    const { startExport } = await ask<{ startExport: { id: string } }>(start, { query });
    for (;;) {
      const { job } = await ask<{ job: { state: string; rowsDone: number } }>(
        'query($id: ID!) { job(id: $id) { state rowsDone } }',
        startExport,
      );
      if (job.state === 'DONE') return job.rowsDone;
      if (job.state !== 'QUEUED' && job.state !== 'RUNNING') throw new Error(job.state);
      await look();
    }
  };
  // The code of exports is compiled and loaded by the first one.
  await exported('{ pixels { nodes { id name } } }', () => pause(20));
  const before = await held();
  let most = 0;
  const done = await exported(EXPORT, async () => {
    most = Math.max(most, (await held()) - before);
  });
  expect(done).toBeGreaterThanOrEqual(count);
  return most;
}
