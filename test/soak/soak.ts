import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createGateway } from '../../src/gateway.ts';
import { type Fault, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { configOf } from '../support/config.ts';
import { exchange } from '../support/exchange.ts';
import { QuickClock } from '../support/virtual-clock.ts';
import { Domains } from './domains.ts';
import { type Answer, createDice, difference, type Errand, reads } from './load.ts';

/** What came of a soak. */
export interface Soaked {
  readonly operations: number;
  /** Answers by what they were: `right`, `hung up`, or the code of an error. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Answers that were neither right nor coded, and what was wrong with them. */
  readonly wrong: readonly string[];
  /** Unhandled rejections, and lines of the log about defects. */
  readonly defects: readonly string[];
  readonly upstreamCalls: number;
  /** Heap after collection, in MiB, at even distances of time. */
  readonly heapMib: readonly number[];
}

/** Callers at a time. */
const CALLERS = 8;
/** About one upstream request in this many meets a new fault: more, and the breakers would never close. */
const FAULT_EVERY = 12;
/** One operation in this many is abandoned, or is a write. */
const HANG_UP_EVERY = 40;
const WRITE_EVERY = 12;

/** How much time passes in each rest of the clock, which is some turns of the event loop. */
const STEP_MS = 10;

const kinds: readonly Fault['kind'][] = [
  'error-500',
  'html',
  'empty',
  'drop',
  'truncated',
  'hang',
  'slow',
  'refuse-429',
];

const codes =
  /^(BUDGET_EXHAUSTED|UPSTREAM_(UNAVAILABLE|TIMEOUT|INVALID_RESPONSE)|OUTCOME_UNKNOWN)$/;

/**
 * Mixed load on a whole gateway, while its upstreams fail at random: reads whose right answers are known,
 * writes and reads that must see them, callers that hang up. The limit is a second long, so that
 * leases, pauses and refusals come and go all the time; the cache is small, so that it is full soon.
 * Time passes with the turns of the event loop: how much is done in `seconds` does not depend on how busy the machine is.
 */
export async function soak(seconds: number, seed: number): Promise<Soaked> {
  const limit = { requests: 100, windowMs: 1000 };
  const clock = new QuickClock();
  const over = new AbortController();
  const passing = (async () => {
    while (!over.signal.aborted) await clock.advance(STEP_MS);
  })();
  const sandbox = await startSandbox({ limit, clock });
  let log = '';
  const gateway = await createGateway(settings(sandbox, limit), {
    clock,
    log: { write: (line) => void (line.includes('unexpected error') && (log += line)) },
  });
  const { url } = await gateway.listen();
  const roll = createDice(seed);
  const outcomes: Record<string, number> = {};
  const wrong = new Set<string>();
  const defects: string[] = [];
  const heapMib: number[] = [];
  let operations = 0;
  let upstreamCalls = 0;
  const unhandled = (reason: unknown): void => void defects.push(String(reason));
  process.on('unhandledRejection', unhandled);

  const truths = new Map<string, unknown>();
  for (const query of reads) truths.set(query, (await post(url, { query })).data);
  const domains = new Domains();
  const weather = createWeather(sandbox, roll);
  const count = (outcome: string): void => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  const next = (): Errand => {
    if (roll(WRITE_EVERY) === 0) return (domains.many ? domains.remove() : null) ?? domains.add();
    if (roll(6) === 0) return domains.list();
    const query = reads[roll(reads.length)] ?? '';
    return { query, check: ({ data }) => difference(truths.get(query), data ?? null) };
  };
  const startedAt = clock.now();
  const elapsed = (): number => (clock.now() - startedAt) / 1000;

  const caller = async (): Promise<void> => {
    while (elapsed() < seconds) {
      const errand = next();
      // It is unknown what becomes of a write whose answer is not waited for.
      const hangsUp = !errand.query.startsWith('mutation') && roll(HANG_UP_EVERY) === 0;
      operations += 1;
      try {
        const answer = await post(url, errand, hangsUp ? abortedIn(clock, roll(20)) : undefined);
        const found = answer.errors?.map(({ extensions }) => extensions?.code ?? 'none') ?? [];
        const fault = errand.check(answer) ?? found.find((code) => !codes.test(code)) ?? null;
        if (fault) wrong.add(`${errand.query}: ${fault}`);
        else count(found[0] ?? 'right');
      } catch (error) {
        if (hangsUp) count('hung up');
        else wrong.add(`${errand.query}: ${String(error)}`);
      }
      upstreamCalls += weather.pass();
      if (elapsed() > (heapMib.length + 1) * (seconds / 31)) heapMib.push(heapNow());
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  sandbox.links.clearFaults();
  sandbox.market.clearFaults();
  await gateway.close();
  await sandbox.close();
  over.abort();
  await passing;
  process.off('unhandledRejection', unhandled);
  if (log) defects.push(log);
  return { operations, outcomes, wrong: [...wrong], defects, upstreamCalls, heapMib };
}

function settings(
  sandbox: Sandbox,
  { requests, windowMs }: { requests: number; windowMs: number },
): ReturnType<typeof configOf> {
  const limit = { LINKS_RATE_LIMIT: String(requests), MARKET_RATE_LIMIT: String(requests) };
  const ttls = ['account', 'channels', 'campaigns', 'items', 'seller', 'domains', 'pixels'];
  return configOf({
    PORT: '0',
    AUTH_MODE: 'none',
    LINKS_BASE_URL: sandbox.links.url,
    LINKS_API_KEY: sandbox.links.key,
    MARKET_BASE_URL: sandbox.market.url,
    MARKET_API_KEY: sandbox.market.key,
    ...limit,
    LINKS_RATE_WINDOW_MS: String(windowMs),
    MARKET_RATE_WINDOW_MS: String(windowMs),
    LINKS_TIMEOUT_MS: '300',
    MARKET_TIMEOUT_MS: '300',
    MAX_WAIT_MS: '400',
    CACHE_MAX_BYTES: '60000',
    shutdownGraceMs: '2000',
    ...Object.fromEntries(ttls.map((name) => [`ttl.${name}`, '50'])),
  });
}

/**
 * Makes requests fail now and then, by the count of each API's own requests: an API of which little is
 * asked, because it is out of order, must not gather more faults than it can get rid of.
 */
function createWeather({ links, market }: Sandbox, roll: (sides: number) => number) {
  const skies = [
    // A refusal with status 200 is a habit of the link API alone.
    { api: links, kinds: [...kinds, 'refuse-200'] as const, untilFault: 0 },
    { api: market, kinds, untilFault: 0 },
  ];
  return {
    /** Takes note of what was asked since the last time, and says how much it was. */
    pass(): number {
      let calls = 0;
      for (const sky of skies) {
        const { api } = sky;
        calls += api.requests.length;
        sky.untilFault -= api.requests.length;
        // What the sandbox remembers of requests would look like a leak.
        api.clearLog();
        if (sky.untilFault > 0) continue;
        sky.untilFault = 1 + roll(2 * FAULT_EVERY);
        api.fault(anyFault(sky.kinds, roll));
      }
      return calls;
    },
  };
}

function anyFault(from: readonly Fault['kind'][], roll: (sides: number) => number): Fault {
  const kind = from[roll(from.length)] ?? 'drop';
  const times = 1 + roll(2);
  const applied = roll(2) === 0;
  if (kind === 'slow') return { kind, delayMs: roll(400), times, applied };
  if (kind === 'refuse-429' || kind === 'refuse-200') return { kind, retryAfter: roll(2), times };
  return { kind, times, applied } as Fault;
}

async function post(
  url: string,
  { query, variables }: { readonly query: string; readonly variables?: Record<string, unknown> },
  signal?: AbortSignal,
): Promise<Answer> {
  const { text } = await exchange(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
    ...(signal ? { signal } : {}),
  });
  return JSON.parse(text) as Answer;
}

function abortedIn(clock: QuickClock, ms: number): AbortSignal {
  const aborting = new AbortController();
  clock.after(ms, () => aborting.abort());
  return aborting.signal;
}

/** Heap after a collection, in MiB. */
export function heapNow(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
