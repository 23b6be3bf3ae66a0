import { startWorld } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** How old what readers got was, in units of the ideal: N entries over B refreshes a minute. */
export interface Freshness {
  readonly entries: number;
  readonly reads: number;
  /** Reads that got no data. */
  readonly failed: number;
  readonly meanOverIdeal: number;
  readonly maxOverIdeal: number;
  /** Most requests that reached the upstream in any sliding minute. */
  readonly busiestMinute: number;
}

const CALLS_A_MINUTE = 30;
const READS_A_SECOND = 10;
/** The first rounds only bring the order of refreshes about, and do not count. */
const ROUNDS_BEFORE = 2;

/**
 * Zipf traffic over this many entries, each of which takes one upstream call, for some rounds of
 * refreshing them all. Virtual time, real sockets, the real limit.
 */
export async function measureFreshness(
  entries: number,
  { exports, rounds = 4 }: FreshnessTerms = {},
): Promise<Freshness> {
  const clock = new VirtualClock();
  const world = await startWorld({
    clock,
    sandbox: { clock, limit: { requests: CALLS_A_MINUTE, mode: 'sliding' } },
    env: {
      LINKS_RATE_LIMIT: String(CALLS_A_MINUTE),
      'ttl.files': '60000',
      MAX_WAIT_MS: '3600000',
    },
    only: 'links',
  });
  const read = (rank: number, headers: Record<string, string> = { prefer: 'wait=10' }) =>
    world.ask(
      'query ($name: String) { files(search: $name, first: 1) { totalCount } }',
      {
        name: `entry ${rank}`,
      },
      headers,
    );
  try {
    // Everything is read once, as slowly as the limit makes it.
    const filling = Promise.all(
      Array.from({ length: entries }, (_, rank) => read(rank, { prefer: 'wait=3600' })),
    );
    const idealMs = (entries / CALLS_A_MINUTE) * 60_000;
    for (let ms = 0; ms < idealMs + 120_000; ms += 1000) await clock.advance(1000);
    const unfilled = (await filling).filter(({ errors }) => errors.length > 0);
    if (unfilled.length > 0) throw new Error(JSON.stringify(unfilled[0]?.errors));

    if (exports !== undefined) {
      const start =
        'mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { id } } }';
      await world.data(start, { query: exports });
    }
    const draw = zipf(entries);
    const ages: number[] = [];
    let failed = 0;
    let reads = 0;
    const seconds = Math.round((rounds * Math.max(idealMs, 60_000)) / 1000);
    for (let second = 0; second < seconds; second += 1) {
      const answers = await Promise.all(Array.from({ length: READS_A_SECOND }, () => read(draw())));
      if (second > (ROUNDS_BEFORE * seconds) / rounds) {
        for (const { receipt, errors } of answers) {
          reads += 1;
          if (errors.length > 0) failed += 1;
          else ages.push(receipt.maxAgeMs);
        }
      }
      await clock.advance(1000);
    }
    const times = world.sandbox.links.requests.map(({ at }) => at);
    return {
      entries,
      reads,
      failed,
      meanOverIdeal: ages.reduce((sum, age) => sum + age, 0) / ages.length / idealMs,
      maxOverIdeal: ages.reduce((most, age) => Math.max(most, age), 0) / idealMs,
      busiestMinute: busiestMinute(times),
    };
  } finally {
    await world.close();
  }
}

interface FreshnessTerms {
  /** A query that is exported meanwhile, and is not complete at the end; by default none. */
  readonly exports?: string;
  readonly rounds?: number;
}

/** Ranks drawn so that the k-th is drawn 1/k^skew times as often as the first; the same ones in each run. */
export function zipf(entries: number, skew = 1): () => number {
  const weights = Array.from({ length: entries }, (_, rank) => 1 / (rank + 1) ** skew);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let state = 12_345;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    let left = (state / 2_147_483_648) * total;
    const rank = weights.findIndex((weight) => {
      left -= weight;
      return left <= 0;
    });
    return Math.max(0, rank);
  };
}

/** Most of these moments, in milliseconds and ascending, that lie in one sliding minute. */
export function busiestMinute(times: readonly number[]): number {
  let start = 0;
  return times.reduce((most, time, end) => {
    while ((times[start] ?? time) <= time - 60_000) start += 1;
    return Math.max(most, end - start + 1);
  }, 0);
}
