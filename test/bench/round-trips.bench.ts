import { it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { startWorld } from '../support/gateway.ts';
import { putAway } from './distance.ts';
import { percentile, record } from './report/measurement.ts';

/** What one way to the upstream takes: a round trip is two. */
const DISTANCE_MS = 150;
const ROUNDS = 5;
/** Room for both clients. */
const LIMIT = 60;
const SILENCE_MS = 1000;

/** Account, channels, and the items of ten: two of the requests before the ten others. */
const dashboard = `{
  account { username }
  channels(first: 10) { nodes { id items(first: 5) { totalCount } } }
}`;

/** Somebody else, who spends the same key while we wait and while we ask. */
async function spend(sandbox: Sandbox, times: number): Promise<void> {
  const headers = { authorization: `Bearer ${sandbox.links.key}` };
  for (let nth = 0; nth < times; nth += 1) {
    await (await fetch(`${sandbox.links.url}/api/domains`, { headers })).text();
  }
}

/** Milliseconds that the same twelve requests take a client that knows in advance which it needs. */
async function bare(url: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const read = async (path: string): Promise<unknown> =>
    (await fetch(`${url}/api/${path}`, { headers })).json();
  const begin = performance.now();
  await Promise.all([read('account'), read('channels?limit=100&page=1')]);
  await Promise.all(Array.from({ length: 10 }, (_, nth) => read(`channel/${76 + nth}`)));
  return performance.now() - begin;
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** How many round trips each of several cold dashboards takes, and how many requests were refused. */
async function measure(kind: 'start' | 'alone' | 'shared') {
  const trips: number[] = [];
  const refused: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const sandbox = await startSandbox({ limit: { requests: LIMIT } });
    const far = await putAway(sandbox.links.url, DISTANCE_MS);
    const world = await startWorld({
      on: sandbox,
      only: 'links',
      env: { LINKS_BASE_URL: far.url, LINKS_RATE_LIMIT: String(LIMIT), LOG_LEVEL: 'silent' },
    });
    if (kind !== 'start') await world.data('{ plans { name } }');
    if (kind === 'shared') {
      await spend(sandbox, 5);
      await world.data('{ domains(first: 1) { nodes { id } } }');
    }
    if (kind !== 'start') await pause(SILENCE_MS);
    const others = kind === 'shared' ? spend(sandbox, 8) : undefined;
    const begin = performance.now();
    await world.data(dashboard);
    const ms = performance.now() - begin;
    await others;
    refused.push(sandbox.links.requests.filter(({ status }) => status === 429).length);
    // By turns, so that whatever else the machine does weighs on both alike.
    trips.push((2 * ms) / (await bare(far.url, sandbox.links.key)));
    await world.close();
    await far.close();
    await sandbox.close();
  }
  return { trips: percentile(trips, 0.5), refused: Math.max(...refused) };
}

it('answers a cold dashboard in few round trips', async () => {
  // The first dashboards of a process are slow for reasons of their own.
  await measure('start');
  const [alone, shared, start] = [
    await measure('alone'),
    await measure('shared'),
    await measure('start'),
  ];
  const figure = (label: string, value: number, atMost?: number) => ({
    label,
    value,
    digits: 1,
    ...(atMost === undefined ? {} : { target: { atMost } }),
  });
  record({
    bench: 'round-trips',
    about: `Requests account, channels and the items of ten channels, 12 requests in total, from an upstream at a distance of ${2 * DISTANCE_MS} ms, with an empty cache. A round trip is half of the time of a client that knows all requests in advance and sends them in two rounds. Medians of ${ROUNDS}.`,
    figures: [
      figure('round trips after an idle period, without co-tenants', alone.trips, 2.2),
      figure('round trips after an idle period, with a co-tenant', shared.trips, 4),
      { label: 'most refusals with a co-tenant', value: shared.refused, target: { atMost: 2 } },
      figure('round trips as the first request of a process', start.trips),
    ],
  });
}, 120_000);
