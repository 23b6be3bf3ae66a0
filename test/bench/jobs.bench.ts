import { it } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { PLENTY, startWorld, type World } from '../support/gateway.ts';
import { randomFrom } from '../support/random.ts';
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
/** Callers, the share of the limit that they need together, and how long they are observed. */
const PEOPLE = 6;
const LOAD = 0.6;
const HIGH_LOAD = 0.8;
const WARM_MINUTES = 6;
const MINUTES = 20;

it('jobs', async () => {
  const alone = [
    await onQuietKey('10,000 rows', CHANNELS, { rows: 10_000, atMost: 101 }),
    await onQuietKey('2,000 rows with statistics', STATISTICS, { rows: 2000, atMost: 2021 }),
  ];
  const shared: Figure[] = [];
  for (const pace of ['even', 'random'] as const) {
    const without = await people({ pace, exports: false });
    const withExport = await people({ pace, exports: true });
    shared.push(...besidePeople(pace, without, withExport));
  }
  const busy = { pace: 'random', load: HIGH_LOAD } as const;
  const withoutExport = await people({ ...busy, exports: false });
  shared.push(
    ...besidePeople('80 %, random', withoutExport, await people({ ...busy, exports: true })),
  );
  const entries = 100;
  const fresh = await measureFreshness(entries, { exports: STATISTICS });
  record({
    bench: 'jobs',
    about: `Exports under the limit of ${LIMIT} requests a minute, in virtual time. First on a key that no caller uses. Then beside ${PEOPLE} callers that need ${LOAD * 100} % of the limit for reads of their own, at an even pace or at random times, or ${HIGH_LOAD * 100} %, ${MINUTES} minutes each, with an export that does not end. At an even pace, a free slot is left over; at random times, 95 % of the reads find a free one only if more are free, so this share has no target.`,
    figures: [
      ...alone.flat(),
      ...shared,
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

interface Traffic {
  readonly waits: readonly number[];
  readonly failed: number;
  readonly calls: number;
  /** Requests of the export. */
  readonly exported: number;
}

function besidePeople(pace: string, without: Traffic, beside: Traffic): Figure[] {
  const p95 = ({ waits }: Traffic) => percentile(waits, 0.95) / 1000;
  const served = ({ failed, waits }: Traffic) => waits.length / (waits.length + failed);
  const slots = LIMIT * MINUTES - beside.calls;
  return [
    {
      label: `${pace} pace: 95th percentile of the waits of people`,
      value: p95(beside),
      digits: 2,
      unit: ' s',
      // A second is what a person does not notice, where there was no wait before.
      target: { atMost: Math.max(1.05 * p95(without), p95(without) + 0.05) },
      note: `${p95(without).toFixed(2)} s without the export`,
    },
    {
      label: `${pace} pace: operations served, over those without the export`,
      value: served(beside) / served(without),
      digits: 3,
      target: { atLeast: 0.95 },
      note: `${beside.failed} of ${beside.waits.length + beside.failed} failed, ${without.failed} without the export`,
    },
    {
      label: `${pace} pace: slots that the callers left and the export used`,
      value: (100 * beside.exported) / slots,
      digits: 1,
      unit: ' %',
      // A read at a random time finds a free slot only if enough are free at all times.
      ...(pace === 'even' && { target: { atLeast: 90 } }),
      note: `${beside.exported} of ${slots}`,
    },
  ];
}

interface Scene {
  readonly exports: boolean;
  readonly pace: 'even' | 'random';
  /** The share of the limit that callers need. */
  readonly load?: number;
}

/** Callers that read what is not cached, and perhaps an export beside them. */
async function people({ exports, load = LOAD, pace }: Scene): Promise<Traffic> {
  const world = await exportWorld({ 'ttl.files': '3600000' });
  const { clock } = world;
  if (exports) await world.add('qr/add', (at) => ({ type: 'text', data: `code ${at}` }), 1200);
  const job: BenchJob | null = exports ? await world.start(STATISTICS) : null;
  const draw = randomFrom(7);
  const everyMs = MINUTE_MS / (LIMIT * load);
  const warmMs = clock.now() + WARM_MINUTES * MINUTE_MS;
  const endMs = warmMs + MINUTES * MINUTE_MS;
  const waits: number[] = [];
  const pending: Promise<void>[] = [];
  let failed = 0;
  let calls = 0;
  let number = 0;
  let before = 0;
  const act = async (at: number): Promise<void> => {
    number += 1;
    const { errors, receipt } = await world.ask(
      'query($name: String) { files(search: $name, first: 1) { totalCount } }',
      { name: `file ${number % PEOPLE} ${number}` },
    );
    if (at < warmMs) return;
    calls += receipt?.calls ?? 0;
    if (errors.length > 0) failed += 1;
    else waits.push(clock.now() - at);
  };
  for (let nextAt = clock.now(); clock.now() < endMs; ) {
    while (nextAt <= clock.now()) {
      pending.push(act(clock.now()));
      nextAt += pace === 'even' ? everyMs : -Math.log(1 - draw()) * everyMs;
    }
    if (before === 0 && clock.now() >= warmMs && job) before = (await world.job(job.id)).callsSpent;
    await clock.advance(Math.min(500, Math.max(1, nextAt - clock.now())));
  }
  const exported = job ? (await world.job(job.id)).callsSpent - before : 0;
  const all = Promise.all(pending);
  await clock.advance(2 * MINUTE_MS);
  await all;
  await world.close();
  return { waits, failed, calls, exported };
}
