import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { GatewayProcess } from '../../bench/attacks/gateway-process.ts';
import { PLENTY } from '../../support/gateway.ts';

const MB = 2 ** 20;
/** `npm run soak:jobs` exports 20,000 rows. */
const rows = Number(process.env['JOBS_ROWS'] ?? 1500);
const TIME_MS = 180_000 + 20 * rows;
const EXPORT = '{ channels { nodes { id name databaseId } } }';

it('an export needs little memory, whatever its size', { timeout: TIME_MS }, async () => {
  const bytes = await memoryOf(rows);
  console.info(`memory: ${rows} rows ${(bytes / MB).toFixed(1)} MB`);
  expect(bytes).toBeLessThan(5 * MB);
});

/** How much more a gateway holds at most during an export of this number of rows. */
async function memoryOf(count: number): Promise<number> {
  const sandbox = await startSandbox({ limit: { requests: PLENTY, resetFormat: 'none' } });
  const folder = mkdtempSync(join(tmpdir(), 'soak-memory-'));
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
  const gateway = await GatewayProcess.start({
    AUTH_MODE: 'none',
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.key,
    LINKS_RATE_LIMIT: String(PLENTY),
    STATE_DIR: join(folder, 'state'),
    NODE_OPTIONS: `--heapsnapshot-signal=SIGQUIT --diagnostic-dir=${folder}`,
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
  /** The size of all that is reachable: what V8 keeps for later is not counted. */
  const reachable = async (): Promise<number> => {
    gateway.signal('SIGQUIT');
    // It answers when the snapshot is written.
    await pause(500);
    await ask('{ __typename }');
    const [name = ''] = readdirSync(folder).filter((each) => each.endsWith('.heapsnapshot'));
    const { nodes, snapshot } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Snapshot;
    rmSync(join(folder, name));
    const fields = snapshot.meta.node_fields;
    let bytes = 0;
    for (let at = fields.indexOf('self_size'); at < nodes.length; at += fields.length) {
      bytes += nodes[at] ?? 0;
    }
    return bytes;
  };
  // Until a scrape, or for two seconds, it holds the events that its metrics count.
  await (await fetch(new URL('/metrics', gateway.url))).text();
  await exported('{ pixels { nodes { id name databaseId } } }', async () => pause(50));
  const before = await reachable();
  const looks: number[] = [];
  const done = await exported(EXPORT, async (rowsDone) => {
    if (rowsDone >= (looks.length + 1) * (count / 4)) looks.push(await reachable());
  });
  expect(done).toBeGreaterThanOrEqual(count);
  expect(looks.length).toBeGreaterThan(1);
  return Math.max(...looks) - before;
}

/** A snapshot of a heap, as far as this test reads it. */
interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: readonly string[] } };
  /** The fields of one node after those of another. */
  readonly nodes: readonly number[];
}
