import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBackends } from '../../src/backends.ts';
import { endpointsOf } from '../../src/config/endpoints.ts';
import { createDigest } from '../../src/digest.ts';
import { createTelemetry } from '../../src/observe/telemetry.ts';
import { resourceNames } from '../../src/resources.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { createServers } from '../../src/servers.ts';
import { decodeEntry, encodeEntry } from '../../src/storage/stored-entry.ts';
import { keysAreNew } from '../../src/upstream/budget/journal/journal.ts';
import { Cache, type CacheEntry } from '../../src/upstream/cache/cache.ts';
import { ProcessRecords } from '../../src/upstream/idempotency/store/process-records.ts';
import { createDispatcher } from '../../src/upstream/wire/undici.ts';
import { Usage } from '../../src/usage/usage.ts';
import { UsageFiles } from '../../src/usage/usage-files.ts';
import { configOf } from '../support/config.ts';
import { type AnswerError, PLENTY } from '../support/gateway.ts';

const dispatcher = createDispatcher();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ limit: { requests: PLENTY }, maxLimit: 7 });
});
afterAll(async () => {
  await dispatcher.close();
  await sandbox.close();
});

/** A gateway as `createGateway` puts it together, but with a cache that can be looked into. */
async function openGateway() {
  const clock = systemClock;
  const { links, market } = sandbox;
  const config = configOf({
    AUTH_MODE: 'none',
    OPERATION_MAX_CALLS: '1000',
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.key,
    LINKS_RATE_LIMIT: String(PLENTY),
    MARKET_BASE_URL: market.url,
    MARKET_API_KEY: market.key,
    MARKET_RATE_LIMIT: String(PLENTY),
  });
  const endpoints = endpointsOf(config, null);
  const kept = new Map<string, CacheEntry>();
  const cache = new Cache({ clock, maxBytes: 100_000_000 });
  cache.listen('', (key) => {
    const entry = cache.peek(key)?.entry;
    if (entry) kept.set(key, entry);
  });
  const digest = createDigest('salt');
  const records = new ProcessRecords({ clock, keepMs: 60_000, maxBytes: 65_536 });
  const telemetry = await createTelemetry({
    clock,
    logLevel: 'error',
    stream: undefined,
    secrets: [],
    gauges: {
      budgets: () => [],
      cache: () => ({ bytes: 0, entries: 0 }),
      classes: { configured: new Map(), quotas: () => [] },
      idempotency: () => records.gauges,
      jobs: () => new Map(),
    },
  });
  const missed = new Set<string>();
  const { events } = telemetry;
  events.add({
    read({ resource, result }) {
      if (result === 'miss') missed.add(resource);
    },
  });
  const witness = () => ({ look() {} });
  const replicas = null;
  const world = {
    dispatcher,
    clock,
    cache,
    events,
    digest,
    replicas,
    journal: keysAreNew,
    witness,
  };
  const backends = createBackends(config, endpoints, world);
  const isOwned = () => false;
  const complain = () => {};
  const store = new UsageFiles({ folder: null, isOwned, clock, maxBytes: 1000, complain });
  const parts = {
    backends,
    cache,
    clock,
    digest,
    jobStore: null,
    keys: { LINKS: keyOf(endpoints.links), MARKET: keyOf(endpoints.market) },
    purchaseCode: undefined,
    records,
    sandbox: null,
    replicas,
    telemetry,
    usage: new Usage({ clock, store, scrub: (text) => text, look: () => {} }),
    watches: [],
  };
  const { graphql } = createServers(config, parts);
  const ask = async (query: string): Promise<readonly AnswerError[]> => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query });
    const request = new Request('http://gateway/graphql', { method: 'POST', headers, body });
    const answer = (await (await graphql.fetch(request)).json()) as { errors?: AnswerError[] };
    return answer.errors ?? [];
  };
  return { ask, kept, missed };
}

/** A key that stays what it is. */
function keyOf(endpoint: { readonly apiKey: string } | null) {
  return { credential: { partition: 'gateway', secret: endpoint?.apiKey ?? '' } };
}

/** All pages of a list: what is selected of a row makes no difference to what is kept. */
const all = (list: string, of = ''): string => `${list}(first: 500) { nodes { id ${of} } }`;

/** Reads of everything that can be read, single rows before the lists that would answer for them. */
const operations = (codes: readonly string[]): readonly string[] => [
  '{ account { id } seller { username } plans { id name } }',
  '{ user(id: 1) { id } item(id: 1) { id } qrCode(id: 1) { id statistics { clicks } } }',
  '{ user(id: 99999) { id } item(id: 99999) { id } qrCode(id: 99999) { id } channel(id: 99999) { items { totalCount } } }',
  `{ ${codes.map((code, n) => `p${n}: purchase(code: "${code}") { code }`).join(' ')} }`,
  `{ ${all('channels', 'items(first: 150) { totalCount nodes { __typename } }')} }`,
  `{ ${all('qrCodes', 'statistics { clicks }')} }`,
  `{ ${['domains', 'overlays', 'campaigns', 'splashPages', 'files', 'pixels', 'items'].map((list) => all(list)).join(' ')} }`,
  '{ users { id plan { id } } free: users(filter: FREE) { id } one: users(email: "a") { id } }',
  '{ files(search: "a") { totalCount } items(search: "a") { totalCount } none: files(search: "zzz") { totalCount } }',
];

test('every answer of the sandbox is the same after it was in Redis', async () => {
  const { ask, kept, missed } = await openGateway();
  const { valid, invalid } = sandbox.market.purchaseCodes;
  for (const query of operations([...valid, ...invalid])) {
    expect({ query, errors: await ask(query) }).toEqual({ query, errors: [] });
  }
  expect([...missed].sort()).toEqual([...resourceNames].sort());
  expect(kept.size).toBeGreaterThan(100);
  expect([...kept.values()].map(({ value }) => value)).toContain(null);
  for (const [key, { stamp, value }] of kept) {
    const { storedAt } = stamp;
    const entry = { storedAt, epoch: 'first', asOf: 0, value, bytes: 1 };
    // Strictly: a member that is `undefined` here is not there any more, and a Date is a text.
    expect({ key, ...decodeEntry(encodeEntry(entry)) }).toStrictEqual({ key, ...entry });
  }
});
