import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { createBudget, enqueue } from '../support/errands.ts';
import { ask, type Contestant, startContestant } from './cold/contestants.ts';
import { type Answers, roundTrips, startUpstream, type Upstream } from './cold/upstream.ts';
import { type Figure, percentile, record } from './report/measurement.ts';
import { installPeers } from './throughput/peers.ts';
import { makeRoom } from './throughput/servers.ts';

/** Processes of each, by turns. */
const ROUNDS = 5;
/** Dashboards of a warm process: those that warm it up, and those that are measured. */
const WARM_UP = 40;
const WARM = 20;
/** How long a process has nothing to do once it listens, and between two of its dashboards. */
const SETTLED_MS = 300;
const BETWEEN_MS = 15;
const contestants: readonly Contestant[] = ['apollo', 'first start', 'restart'];

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const median = (values: readonly number[]): number => percentile(values, 0.5);

/** What a process took for its first dashboard, and for those once it was warm, in milliseconds. */
interface Times {
  readonly first: First;
  readonly warm: readonly number[];
  /** Milliseconds from the first to the last of the ten calls that leave together, once it was warm. */
  readonly spreads: readonly number[];
}

/** What the first dashboard of a process took, and where it went. */
interface First {
  readonly ms: number;
  readonly processorMs: number;
  /** Until its first request came in at the upstream. */
  readonly sentMs: number;
  readonly roundTrips: number;
}

it('answers a dashboard of which nothing is cached', async () => {
  const peers = installPeers();
  if (peers === null) throw new Error('The packages of Apollo Server cannot be had.');
  makeRoom();
  const folder = mkdtempSync(join(tmpdir(), 'bench-cold-'));
  const sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
  const answers: Answers = new Map();
  const key = sandbox.links.key;

  const run = async (contestant: Contestant, upstream: Upstream, warm: number): Promise<Times> => {
    const server = await startContestant(contestant, { url: upstream.url, key }, { folder, peers });
    await pause(SETTLED_MS);
    upstream.forget();
    const { begin, ms, processorMs } = await ask(server);
    const sentMs = (upstream.arrivals[0]?.at ?? Number.NaN) - begin;
    const first = { ms, processorMs, sentMs, roundTrips: roundTrips(upstream.arrivals) };
    const times: number[] = [];
    const spreads: number[] = [];
    for (let nth = 0; nth < warm; nth += 1) {
      await pause(BETWEEN_MS);
      upstream.forget();
      times.push((await ask(server)).ms);
      const together = upstream.arrivals.slice(-10).map(({ at }) => at);
      spreads.push(Math.max(...together) - Math.min(...together));
    }
    const calls = upstream.arrivals.map(({ path }) => path).sort();
    expect(calls).toHaveLength(12);
    expect(calls).toEqual(Array.from(answers.keys()).sort());
    await server.stop();
    return { first, warm: times.slice(WARM_UP), spreads: spreads.slice(WARM_UP) };
  };

  const figures: Figure[] = [claimToRequest(await claims())];
  for (const [latencyMs, targets] of [
    [5, { over: 1.2, warm: 20 }],
    [40, { over: 1.1, warm: 95 }],
  ] as const) {
    const upstream = await startUpstream(sandbox, answers, latencyMs);
    // Reads what the upstream is to answer.
    await run('apollo', upstream, 0);
    const firsts: Record<Contestant, First[]> = { apollo: [], 'first start': [], restart: [] };
    // By turns, so that whatever else the machine does weighs on all alike.
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const each of contestants) firsts[each].push((await run(each, upstream, 0)).first);
    }
    const ours = await run('restart', upstream, WARM_UP + WARM);
    const theirs = await run('apollo', upstream, WARM_UP + WARM);
    upstream.close();
    const about = `an upstream of ${latencyMs} ms`;
    for (const each of ['first start', 'restart'] as const) {
      figures.push({
        label: `the first of a process (${each}), ${about}, over Apollo Server`,
        value: median(
          firsts[each].map(({ ms }, round) => ms / (firsts.apollo[round]?.ms ?? Number.NaN)),
        ),
        digits: 2,
        target: { atMost: targets.over },
        note: spent(firsts[each], firsts.apollo),
      });
    }
    figures.push(
      {
        label: `in a warm process, ${about}`,
        value: median(ours.warm),
        digits: 1,
        unit: ' ms',
        target: { atMost: targets.warm },
        note: `Apollo Server ${median(theirs.warm).toFixed(1)} ms`,
      },
      {
        label: `time from the first to the last of ten calls sent together, ${about}`,
        value: median(ours.spreads),
        digits: 1,
        unit: ' ms',
        target: { atMost: 3 },
        note: `Apollo Server ${median(theirs.spreads).toFixed(1)} ms`,
      },
    );
  }
  await sandbox.close();
  rmSync(folder, { recursive: true });
  record({
    bench: 'cold',
    about: `Requests an account and ten channels with five items each (12 calls in two rounds) with an empty cache, from the built gateway and from Apollo Server with its data source for REST. Each is a process on one core that has listened for ${SETTLED_MS} ms. The upstream responds after 5 ms or 40 ms. Medians of ${ROUNDS} processes in turns, and of ${WARM} dashboards after ${WARM_UP}.`,
    figures,
  });
});

/** Where the first dashboards of two went, the second for comparison. */
function spent(ours: readonly First[], theirs: readonly First[]): string {
  const both = (of: (first: First) => number): string =>
    [ours, theirs].map((firsts) => median(firsts.map(of)).toFixed(0)).join(' over ');
  return [
    `${both(({ ms }) => ms)} ms`,
    `${both(({ processorMs }) => processorMs)} ms of processor time`,
    `first request after ${both(({ sentMs }) => sentMs)} ms`,
    `round trips ${both((first) => first.roundTrips)}`,
  ].join('; ');
}

/** Milliseconds from the claims of ten requests to when the last of them may leave, run by run. */
async function claims(): Promise<number[]> {
  const runs: number[] = [];
  for (let run = 0; run < WARM; run += 1) {
    const budget = createBudget(systemClock, 30, 60_000);
    const asks = (count: number): Promise<void> =>
      new Promise((resolve) => {
        let left = count;
        for (let nth = 0; nth < count; nth += 1) {
          enqueue(budget, {
            lane: 'interactive',
            caller: 'bench',
            resource: 'channels',
            operation: null,
            waitedMs: 0,
            urgency: () => 0,
            accepts: () => true,
            attempt: async () => {
              left -= 1;
              if (left === 0) resolve();
              return { kind: 'done', feedback: { limit: null, remaining: null, resetInMs: null } };
            },
          });
        }
      });
    // The first is answered, so that no other waits for it.
    await asks(1);
    await pause(50);
    const begin = performance.now();
    await asks(10);
    runs.push(performance.now() - begin);
  }
  return runs;
}

function claimToRequest(runs: readonly number[]): Figure {
  return {
    label: 'time from claim to request, ten at the same time',
    value: median(runs),
    digits: 2,
    unit: ' ms',
    target: { atMost: 1 },
  };
}
