import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type AnswerError, PLENTY, startWorld } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

const LIMIT = 30;
const MINUTE_MS = 60_000;
const AGENTS = 10;
/** The agents' requests per minute, as without configuration. */
const QUOTA = LIMIT / 3;
const PEOPLE = 6;
/** The share of the limit that people need. */
const LOAD = 0.8;
const WARM_MINUTES = 5;
const MINUTES = 20;
const SEEDS = [7, 8, 9];
/** An agent that was told to retry does so at the next second, whatever it was told. */
const RETRY_MS = 1000;
/** Of what an agent does, every n-th time it reads what is cached. */
const CACHED_EVERY = 5;
const CACHED = '{ pixels(first: 1) { nodes { name } } }';
const COLD = 'query($name: String) { files(search: $name, first: 1) { totalCount } }';
/** In memory, so that a step takes no virtual time: there is no other clock for a disk. */
const FAST = '/dev/shm';

it('agents', async () => {
  const alone: Traffic[] = [];
  const beside: Traffic[] = [];
  for (const seed of SEEDS) {
    alone.push(await traffic({ seed, load: LOAD, agents: 0 }));
    beside.push(await traffic({ seed, load: LOAD, agents: AGENTS }));
  }
  const quiet = await traffic({ seed: 1, load: 0, agents: AGENTS });
  const [without, with_] = [joined(alone), joined(beside)];
  const p95 = ({ waits }: Pick<Traffic, 'waits'>): number => percentile(waits, 0.95) / 1000;
  const mean = ({ waits }: Traffic): string =>
    (waits.reduce((sum, ms) => sum + ms, 0) / waits.length / 1000).toFixed(2);
  const served = ({ failed, waits }: Pick<Traffic, 'failed' | 'waits'>): number =>
    waits.length / (waits.length + failed);
  const minutes = SEEDS.length * MINUTES;
  const most = (each: readonly Traffic[]): number =>
    Math.max(...each.map(({ agentCalls }) => mostInAMinute(agentCalls)));
  const figures: Figure[] = [
    {
      label: 'people: 95th percentile of their waits, over that without agents',
      value: p95(with_) / p95(without),
      digits: 2,
      target: { atMost: 1.1 },
      note: `${p95(with_).toFixed(2)} s and ${p95(without).toFixed(2)} s; mean ${mean(with_)} s and ${mean(without)} s`,
    },
    {
      label: 'people: operations served, over those without agents',
      value: served(with_) / served(without),
      digits: 3,
      target: { atLeast: 0.95 },
      note: `${with_.failed} of ${with_.waits.length + with_.failed} failed, ${without.failed} without agents`,
    },
    {
      label: 'agents: upstream requests in the minute with the most',
      value: most(beside),
      target: { atMost: QUOTA },
      note: `${(with_.agentCalls.length / minutes).toFixed(1)} per minute on average`,
    },
    {
      label: 'agents: upstream requests for cached responses',
      value: with_.cachedCalls + quiet.cachedCalls,
      target: { atMost: 0 },
      note: `of ${with_.cached + quiet.cached} responses; ${with_.cachedFailed + quiet.cachedFailed} failed`,
    },
    {
      label:
        'agents: difference between the agent with the most responses and that with the fewest',
      value: spread(with_),
      note: `of ${with_.agentCalls.length}`,
    },
    {
      label: 'agents on a quiet key: upstream requests in the minute with the most',
      value: most([quiet]),
      target: { atMost: QUOTA },
    },
    {
      label: 'agents on a quiet key: upstream requests per minute',
      value: quiet.agentCalls.length / MINUTES,
      digits: 1,
      target: { atLeast: 0.95 * QUOTA },
    },
  ];
  record({
    bench: 'agents',
    about: `${AGENTS} agents, in the class that exists without configuration, beside ${PEOPLE} callers that need ${LOAD * 100} % of the limit of ${LIMIT} requests a minute for reads of their own at random times. Each agent reads what is not cached, again and again: as soon as it has its response, or at the next second after a refusal. Every ${CACHED_EVERY}th of its reads is of what is cached. ${SEEDS.length} times ${MINUTES} minutes, in virtual time; then without people.`,
    figures,
  });
});

interface Scene {
  readonly seed: number;
  readonly agents: number;
  /** The share of the limit that people need. */
  readonly load: number;
}

interface Traffic {
  /** Of the operations of people that were served, in milliseconds. */
  readonly waits: readonly number[];
  readonly failed: number;
  /** When agents had the responses of their upstream requests, in this order. */
  readonly agentCalls: readonly number[];
  /** The same by agent. */
  readonly byAgent: readonly number[];
  /** Responses of cached reads of agents, those that failed, and their upstream requests. */
  readonly cached: number;
  readonly cachedFailed: number;
  readonly cachedCalls: number;
}

/** The traffic of people, with agents beside them. */
async function traffic({ agents, load, seed }: Scene): Promise<Traffic> {
  const world = await worldOf();
  const { ask, clock } = world;
  const draw = random(seed);
  const everyMs = load > 0 ? MINUTE_MS / (LIMIT * load) : Number.POSITIVE_INFINITY;
  const warmMs = clock.now() + WARM_MINUTES * MINUTE_MS;
  const endMs = warmMs + MINUTES * MINUTE_MS;
  const waits: number[] = [];
  const agentCalls: number[] = [];
  const byAgent = Array<number>(agents).fill(0);
  const pending: Promise<void>[] = [];
  /** The agents that wait to retry: one timer for all of them. */
  const refused: (() => void)[] = [];
  let [failed, cached, cachedFailed, cachedCalls, number] = [0, 0, 0, 0, 0];
  const act = async (at: number): Promise<void> => {
    number += 1;
    const { errors } = await ask(`person${number % PEOPLE}`, COLD, `person ${number}`);
    if (at < warmMs) return;
    if (errors.length > 0) failed += 1;
    else waits.push(clock.now() - at);
  };
  const loops = async (agent: number): Promise<void> => {
    for (let n = 1; clock.now() < endMs; n += 1) {
      const isCached = n % CACHED_EVERY === 0;
      const query = isCached ? CACHED : COLD;
      const { errors, receipt } = await ask(`agent${agent}`, query, `agent ${agent} ${n}`);
      if (clock.now() >= warmMs && clock.now() < endMs) {
        for (let call = 0; call < (receipt?.calls ?? 0); call += 1) agentCalls.push(clock.now());
        if (isCached) {
          cached += 1;
          cachedFailed += errors.length;
          cachedCalls += receipt?.calls ?? 0;
        } else byAgent[agent] = (byAgent[agent] ?? 0) + (receipt?.calls ?? 0);
      }
      if (errors.length > 0) {
        assertRefused(errors);
        await new Promise<void>((resolve) => {
          refused.push(resolve);
        });
      }
    }
  };
  await ask('person0', CACHED, '');
  for (let agent = 0; agent < agents; agent += 1) pending.push(loops(agent));
  for (let nextAt = load > 0 ? clock.now() : endMs; clock.now() < endMs; ) {
    while (nextAt <= clock.now()) {
      pending.push(act(clock.now()));
      nextAt += -Math.log(1 - draw()) * everyMs;
    }
    const second = Math.floor(clock.now() / RETRY_MS);
    await clock.advance(Math.min(500, Math.max(1, nextAt - clock.now())));
    if (Math.floor(clock.now() / RETRY_MS) > second) for (const retry of refused.splice(0)) retry();
  }
  for (const retry of refused.splice(0)) retry();
  const all = Promise.all(pending);
  await clock.advance(2 * MINUTE_MS);
  await all;
  await world.close();
  return { waits, failed, agentCalls, byAgent, cached, cachedFailed, cachedCalls };
}

/** A gateway under the real limit over an API without one, with tokens for people and agents. */
async function worldOf() {
  const clock = new VirtualClock();
  const folder = mkdtempSync(join(existsSync(FAST) ? FAST : tmpdir(), 'bench-agents-'));
  const file = join(folder, 'tokens.json');
  const named = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      name: `${name}${n}`,
      role: 'viewer' as const,
      sha256: hash('sha256', `${name}${n}`),
    }));
  const agents = named('agent', AGENTS).map((token) => ({ ...token, class: 'agent' }));
  writeFileSync(file, formatTokenFile([...named('person', PEOPLE), ...agents]));
  const world = await startWorld({
    clock,
    sandbox: { clock, limit: { requests: PLENTY, resetFormat: 'none' } },
    only: 'links',
    env: {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      LINKS_RATE_LIMIT: String(LIMIT),
      'ttl.files': '3600000',
      'ttl.pixels': '86400000',
    },
  });
  return {
    clock,
    ask: (caller: string, query: string, name: string) =>
      world.ask(query, { name }, { authorization: `Bearer ${caller}` }),
    async close() {
      const closing = world.close();
      await clock.advance(MINUTE_MS);
      await closing;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function assertRefused(errors: readonly AnswerError[]): void {
  const isRefused = ({ extensions }: AnswerError): boolean =>
    extensions?.code === 'BUDGET_EXHAUSTED' && typeof extensions['retryAfterMs'] === 'number';
  if (!errors.every(isRefused)) throw new Error(JSON.stringify(errors));
}

/** The most events in a minute, of which each lasts from its time until a minute later. */
function mostInAMinute(times: readonly number[]): number {
  let most = 0;
  for (const [index, at] of times.entries()) {
    const before = times.slice(0, index + 1).filter((each) => each > at - MINUTE_MS).length;
    most = Math.max(most, before);
  }
  return most;
}

function joined(runs: readonly Traffic[]): Traffic {
  const sum = (of: (run: Traffic) => number): number => runs.reduce((all, run) => all + of(run), 0);
  const [first] = runs;
  return {
    waits: runs.flatMap(({ waits }) => waits),
    failed: sum(({ failed }) => failed),
    agentCalls: runs.flatMap(({ agentCalls }) => agentCalls),
    byAgent: (first?.byAgent ?? []).map((_, agent) => sum(({ byAgent }) => byAgent[agent] ?? 0)),
    cached: sum(({ cached }) => cached),
    cachedFailed: sum(({ cachedFailed }) => cachedFailed),
    cachedCalls: sum(({ cachedCalls }) => cachedCalls),
  };
}

function spread({ byAgent }: Traffic): number {
  return Math.max(...byAgent) - Math.min(...byAgent);
}

/** Numbers from 0 to 1, the same in each run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
