import { MockAgent } from 'undici';
import { vi } from 'vitest';
import { createDigest } from '../../src/digest.ts';
import { perResource } from '../../src/resources.ts';
import { Cache } from '../../src/upstream/cache/cache.ts';
import { Client } from '../../src/upstream/client.ts';
import { Receipt } from '../../src/upstream/receipt.ts';
import { scriptedApi } from '../support/scripted-upstream.ts';
import { QuickClock } from '../support/virtual-clock.ts';
import { busiestMinute, zipf } from './freshness.ts';

/** How old what readers got was, when entries were asked for at some rate. */
export interface FreshnessAtRate {
  readonly reads: number;
  readonly failed: number;
  /** In units of the ideal: N entries over B refreshes a minute. */
  readonly maxOverIdeal: number;
  readonly busiestMinute: number;
  /** Requests that left in the hour that began a minute after the last reader. */
  readonly afterwards: number;
}

const CALLS_A_MINUTE = 30;
const ORIGIN = 'http://upstream';
const credential = { partition: 'p', secret: 'secret' };

/**
 * Zipf traffic over this many entries for some rounds of refreshing them all, at the client: no GraphQL
 * and no sockets, so that hours of many readers pass in seconds. The k-th entry is read 1/k^skew times as
 * often as the first.
 */
export async function measureFreshnessAtRate(
  entries: number,
  readsASecond: number,
  { rounds = 6, skew = 1 } = {},
): Promise<FreshnessAtRate> {
  const clock = new QuickClock().rule();
  const times: number[] = [];
  const dispatcher = new MockAgent();
  dispatcher.disableNetConnect();
  dispatcher
    .get(ORIGIN)
    .intercept({ path: () => true, method: 'GET' })
    .reply(200, () => {
      times.push(clock.now());
      return '{}';
    })
    .persist();
  const client = new Client({
    api: scriptedApi,
    baseUrl: ORIGIN,
    dispatcher,
    clock,
    rateWindowMs: 60_000,
    timeoutMs: 10_000,
    timeZone: 'UTC',
    cache: new Cache({ clock, maxBytes: 10_000_000 }),
    freshness: perResource(() => ({
      ttlMs: 60_000,
      staleWhileRevalidateMs: 900_000,
      staleIfErrorMs: 86_400_000,
    })),
    rateLimit: CALLS_A_MINUTE,
    digest: createDigest('salt'),
  });
  const reader = client;
  /** The age of what a reader gets; null for an error. */
  const read = async (rank: number, maxWaitMs = 10_000): Promise<number | null> => {
    const receipt = new Receipt(clock);
    const signal = new AbortController().signal;
    const caller = { name: 'someone', receipt, maxWaitMs, signal };
    const path = `/api/${rank}`;
    const call = {
      method: 'GET',
      path,
      resource: 'files',
      tags: [],
      decode: () => 'value',
    } as const;
    try {
      await reader.read(call, { caller, credential });
      return receipt.summary.maxAgeMs;
    } catch {
      return null;
    }
  };
  const filling = Promise.all(Array.from({ length: entries }, (_, rank) => read(rank, 36e5)));
  const idealMs = (entries / CALLS_A_MINUTE) * 60_000;
  await clock.advance(idealMs + 120_000);
  if ((await filling).includes(null)) throw new Error('an entry could not be read');

  const draw = zipf(entries, skew);
  const answers: Promise<number | null>[] = [];
  const everyMs = 1000 / readsASecond;
  const lengthMs = rounds * Math.max(idealMs, 60_000);
  for (let n = 0; n * everyMs < lengthMs; n += 1) {
    const age = read(draw());
    // The first rounds only bring the order of refreshes about, and do not count.
    if (n * everyMs > lengthMs / 2) answers.push(age);
    // A few readers at the same moment are as good as one after the other, and take less time here.
    if ((n + 1) % (readsASecond / 2) === 0) await clock.advance(500);
  }
  await clock.advance(60_000);
  const found = await Promise.all(answers);
  const ages = found.filter((age) => age !== null);
  const before = times.length;
  await clock.advance(3_600_000);
  await dispatcher.close();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  return {
    reads: found.length,
    failed: found.length - ages.length,
    maxOverIdeal: ages.reduce((most, age) => Math.max(most, age), 0) / idealMs,
    busiestMinute: busiestMinute(times),
    afterwards: times.length - before,
  };
}
