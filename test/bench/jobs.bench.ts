import { it } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { PLENTY, startWorld, type World } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { measureFreshness } from './freshness.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

/** Requests that a minute allows. */
const LIMIT = 30;

/** A job as far as these benches look at it. */
interface BenchJob {
  readonly id: string;
  readonly state: string;
  readonly rowsDone: number;
  readonly rowsTotal: number | null;
  readonly callsSpent: number;
  readonly callsLeft: number | null;
  readonly readyAt: string | null;
}

const JOB = 'id state rowsDone rowsTotal callsSpent callsLeft readyAt';

/** A gateway with jobs under the real limit, over a sandbox without one, in virtual time. */
async function exportWorld(env: Readonly<Record<string, string>> = {}) {
  const clock = new VirtualClock();
  const sandbox = await startSandbox({
    clock,
    limit: { requests: PLENTY, resetFormat: 'none' },
  });
  const world: World = await startWorld({
    clock,
    on: sandbox,
    only: 'links',
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
    },
  };
}

const MINUTE_MS = 60_000;
const PAGE = 100;
const CHANNELS = '{ channels { nodes { id name } } }';
const STATISTICS = '{ qrCodes { nodes { id name statistics { clicks } } } }';

it('jobs', async () => {
  const alone = [
    await onQuietKey('10,000 rows', CHANNELS, { rows: 10_000, atMost: 101 }),
    await onQuietKey('2,000 rows with statistics', STATISTICS, { rows: 2000, atMost: 2021 }),
  ];
  const entries = 100;
  const fresh = await measureFreshness(entries, { exports: STATISTICS });
  record({
    bench: 'jobs',
    about: `Exports on a key that no caller uses, under the limit of ${LIMIT} requests a minute, in virtual time. Then beside readers of ${entries} entries.`,
    figures: [
      ...alone.flat(),
      {
        label: `N = ${entries} entries that are always viewed: oldest data over N/(B-2)`,
        value: (fresh.maxOverIdeal * (LIMIT - 2)) / LIMIT,
        digits: 2,
        target: { atMost: 1.25 },
        note: `mean ${((fresh.meanOverIdeal * (LIMIT - 2)) / LIMIT).toFixed(2)}; ${fresh.failed} of ${fresh.reads} reads failed`,
      },
    ],
  });
});

/** The calls of an export, and how well its end is forecast. */
async function onQuietKey(
  label: string,
  query: string,
  { atMost, rows }: { readonly rows: number; readonly atMost: number },
): Promise<Figure[]> {
  const world = await exportWorld();
  const isChannels = query === CHANNELS;
  const list = isChannels ? 'channels' : 'qrCodes';
  const { data } = await world.ask<Record<string, { totalCount: number }>>(
    `{ ${list}(first: 1) { totalCount } }`,
  );
  const missing = rows - (data[list]?.totalCount ?? 0);
  if (isChannels) await world.add('channel/add', (at) => ({ name: `channel ${at}` }), missing);
  else await world.add('qr/add', (at) => ({ type: 'text', data: `code ${at}` }), missing);
  // What was read for the count is not fresh any more.
  await world.clock.advance(20 * MINUTE_MS);
  const startedAt = world.clock.wall();
  let job = await world.start(query);
  const forecasts: { readonly at: number; readonly readyAt: number }[] = [];
  while (job.state !== 'DONE') {
    await world.clock.advance(1000);
    job = await world.job(job.id);
    if (job.state === 'FAILED') throw new Error('the export has failed');
    if (job.readyAt === null) continue;
    forecasts.push({ at: world.clock.wall(), readyAt: Date.parse(job.readyAt) });
  }
  const endedAt = world.clock.wall();
  const errors = forecasts.map(
    ({ at, readyAt }) => Math.abs(readyAt - endedAt) / Math.max(endedAt - at, 1000),
  );
  const overall = forecasts.map(
    ({ readyAt }) => Math.abs(readyAt - endedAt) / (endedAt - startedAt),
  );
  await world.close();
  const minutes = (endedAt - startedAt) / MINUTE_MS;
  return [
    {
      label: `${label}: upstream requests`,
      value: job.callsSpent,
      target: { atMost },
      note: `${job.rowsDone} rows in ${minutes.toFixed(1)} minutes; ${Math.ceil(rows / PAGE)} pages`,
    },
    {
      label: `${label}: error of readyAt over the duration, at p90`,
      value: 100 * percentile(overall, 0.9),
      digits: 1,
      unit: ' %',
      target: { atMost: 10 },
      note: `of ${forecasts.length}; over the remaining time ${(100 * percentile(errors, 0.9)).toFixed(1)} %`,
    },
  ];
}
