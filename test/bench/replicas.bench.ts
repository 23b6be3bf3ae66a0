import { setTimeout as pause } from 'node:timers/promises';
import { it } from 'vitest';
import { createDice } from '../soak/load.ts';
import { Cluster, TIMEOUT_MS } from '../support/replicas/cluster.ts';
import { Press } from '../support/replicas/press.ts';
import { kindsOf, monitor } from '../support/replicas/redis-insight.ts';
import { Scene } from '../support/replicas/scene.ts';
import { type UpstreamRequest, VersionedUpstream } from '../support/replicas/upstream.ts';
import { mostArrivals } from '../support/replicas/window.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

const LIMIT = 50;
const WINDOW_MS = 10_000;
/** How long nothing is sent when Redis has no memory. */
const HOLD_MS = WINDOW_MS + 250 + 1500 + TIMEOUT_MS;
const env = { LINKS_RATE_LIMIT: String(LIMIT), LINKS_RATE_WINDOW_MS: String(WINDOW_MS) };

/** How many requests came in an interval. */
function between(requests: readonly UpstreamRequest[], from: number, to: number): number {
  return requests.filter(({ at }) => at >= from && at < to).length;
}

/** Three replicas and one process by itself, pressed alike, while parts of the former are killed. */
async function press(): Promise<Figure[]> {
  await using scene = await Scene.set({ env });
  const { cluster, redis } = scene;
  await using upstream = await VersionedUpstream.start();
  upstream.conduct.delays = scene.usualDelays;
  await using alone = await Cluster.start({ replicas: 1, upstream, redisPort: null, env });
  const presses = [
    new Press(cluster, { askers: 12 }, createDice(1)),
    new Press(alone, { askers: 36 }, createDice(2)),
  ];
  // Until the one that is alone has its whole limit, and both are in step.
  await pause(2 * WINDOW_MS);
  const from = performance.now();
  const said = await monitor(redis.port);
  await pause(3 * WINDOW_MS);
  const quiet = performance.now();
  const commands = kindsOf(said.lines()).length;
  await said[Symbol.asyncDispose]();
  await cluster.replica(0).end('SIGKILL');
  await pause(2000);
  await cluster.replica(0).begin();
  await pause(3 * WINDOW_MS);
  const killed = performance.now();
  await redis.kill();
  await pause(1000);
  await redis.start();
  const back = performance.now();
  await pause(HOLD_MS + WINDOW_MS);
  const to = performance.now();
  await Promise.all(presses.map((each) => each.end()));

  const shared = scene.upstream.requests;
  const single = upstream.requests;
  const goodput = (a: number, b: number): number =>
    (between(shared, a, b) / between(single, a, b)) * 100;
  const parts = (a: number, b: number): string =>
    `${between(shared, a, b)} requests, ${between(single, a, b)} of the one`;
  const first = shared.find(({ at }) => at > back + HOLD_MS);
  const atMost = LIMIT;
  return [
    {
      label: 'requests of three replicas over those of one process',
      value: goodput(from, quiet),
      unit: ' %',
      digits: 1,
      target: { atLeast: 95 },
      note: parts(from, quiet),
    },
    {
      label: 'the same while one of them is killed and restarted',
      value: goodput(quiet, killed),
      unit: ' %',
      digits: 1,
      note: parts(quiet, killed),
    },
    {
      label: 'most requests in a window, in both cases',
      value: mostArrivals(shared, WINDOW_MS),
      target: { atMost },
      note: `${shared.length} requests in total`,
    },
    {
      label: 'requests while Redis is down, and during the quarantine',
      // Those that had left the gateway when it was killed are not counted.
      value: between(shared, killed + 100, back + HOLD_MS),
      target: { atMost: 0 },
      note: `the first after ${(((first?.at ?? to) - back) / 1000).toFixed(1)} s of ${(HOLD_MS / 1000).toFixed(1)} s`,
    },
    {
      label: 'Redis commands per second, of three replicas at the limit',
      value: commands / ((quiet - from) / 1000),
      note: `${((between(shared, from, quiet) * 1000) / (quiet - from)).toFixed(1)} requests a second`,
    },
  ];
}

/** What a write takes at one of three replicas over what it takes at a process by itself, by turns. */
async function writes(): Promise<Figure[]> {
  const fast = { LINKS_RATE_LIMIT: '400' };
  await using scene = await Scene.set({ env: fast });
  await using upstream = await VersionedUpstream.start();
  await using alone = await Cluster.start({ replicas: 1, upstream, redisPort: null, env: fast });
  scene.upstream.conduct.delays = () => [0, 0];
  const took = { shared: [] as number[], single: [] as number[] };
  const query = (nth: number): string =>
    `mutation { updateCampaign(input: { id: 1, name: "n${nth}" }) { __typename } }`;
  for (let nth = 0; nth < 700; nth += 1) {
    for (const [times, cluster] of [
      [took.shared, scene.cluster],
      [took.single, alone],
    ] as const) {
      const began = performance.now();
      await cluster.ask(0, { query: query(nth) });
      // The first ones of a process are slow for reasons of their own.
      if (nth >= 100) times.push(performance.now() - began);
      await pause(5);
    }
  }
  const added = (share: number, label: string, atMost?: number): Figure => {
    const [shared, single] = [percentile(took.shared, share), percentile(took.single, share)];
    return {
      label: `time that sharing adds to a write, ${label}`,
      value: shared - single,
      unit: ' ms',
      digits: 1,
      note: `${shared.toFixed(1)} ms over ${single.toFixed(1)} ms`,
      ...(atMost === undefined ? {} : { target: { atMost } }),
    };
  };
  return [added(0.5, 'p50'), added(0.99, 'p99', 10), await warmReads(scene)];
}

/** What Redis is asked for while replicas are asked for what they have cached, beside what it hears anyway. */
async function warmReads({ cluster, redis }: Scene): Promise<Figure> {
  const reads = 1000;
  const query = '{ account { username } channels { nodes { name } } }';
  for (let nth = 0; nth < 9; nth += 1) await cluster.ask(nth % 3, { query });
  await using heard = await monitor(redis.port);
  await pause(2000);
  const usual = new Set(kindsOf(heard.lines()));
  const { length } = heard.lines();
  for (let nth = 0; nth < reads; nth += 1) await cluster.ask(nth % 3, { query });
  const asked = kindsOf(heard.lines().slice(length)).filter((kind) => !usual.has(kind));
  return {
    label: `Redis commands for ${reads} warm reads`,
    value: asked.length,
    target: { atMost: 0 },
    note: 'in addition to the beats',
  };
}

it('replicas', async () => {
  record({
    bench: 'replicas',
    about: `Three built gateways with one Redis, next to a single process: both receive more reads than the ${LIMIT} requests in ${WINDOW_MS / 1000} s that the limit allows. One of the gateways is killed and restarted, then Redis. Writes are sent to one of three replicas and to a single process in turns.`,
    figures: [...(await press()), ...(await writes())],
  });
}, 600_000);
