import type { Config, UpstreamConfig } from './config/config.ts';
import type { Endpoints } from './config/endpoints.ts';
import type { Digest } from './digest.ts';
import type { Backend } from './graphql/context.ts';
import { linksApi } from './links/api.ts';
import { createMarketApi } from './market/api.ts';
import type { EventStream } from './observe/event-stream.ts';
import { perResource } from './resources.ts';
import type { Clock } from './scheduling/clock.ts';
import type { SavedSlots } from './upstream/budget/saved-slots.ts';
import type { Cache } from './upstream/cache/cache.ts';
import type { SavedCache } from './upstream/cache/saved/saved-cache.ts';
import { Client, type ClientOptions } from './upstream/client.ts';
import type { CountHistory } from './upstream/count-history.ts';
import type { Subject } from './upstream/diagnosis.ts';
import type { Records } from './upstream/idempotency/records.ts';
import { Lists } from './upstream/lists/pages.ts';
import type { Witness } from './upstream/wire/exchange.ts';

/** Rows a page of a list that the marketplace sends: it sends each list whole. */
const WHOLE_LISTS = 1;

/** Both APIs as the whole process shares them; `null` for one that is not configured. */
export interface Backends {
  readonly links: Backend | null;
  readonly market: Backend | null;
  /** The client of each that is configured. */
  readonly clients: readonly Client[];
}

/** What both backends share of the world. */
interface BackendWorld {
  readonly dispatcher: ClientOptions['dispatcher'];
  readonly clock: Clock;
  readonly cache: Cache;
  /** Records counts over time; absent for a process that answers no queries. */
  readonly counts?: CountHistory;
  readonly events: EventStream;
  readonly digest: Digest;
  readonly slots: SavedSlots;
  /** Stores what became of writes with idempotency keys; absent for a process that sends no writes. */
  readonly records?: Records;
  /** Saves the cache across restarts; absent if nothing is saved. */
  readonly savedCache?: SavedCache | undefined;
  /** Learns how the requests to an upstream end. */
  readonly witness: (subject: Subject) => Witness;
}

/** Creates a client and its lists for each API. No client receives a key: requests bring one. */
export function createBackends(
  config: Config,
  endpoints: Endpoints,
  world: BackendWorld,
): Backends {
  const { auth } = config;
  const { events } = world;
  const freshness = perResource((resource) => ({
    ttlMs: config.ttlMs[resource],
    staleWhileRevalidateMs: config.staleWhileRevalidateMs,
    staleIfErrorMs: config.staleIfErrorMs,
  }));
  const links =
    endpoints.links &&
    createBackend(config.links, world, {
      maxCallsPerOperation: config.operationMaxCalls ?? undefined,
      api: linksApi,
      baseUrl: endpoints.links.baseUrl,
      timeZone: config.links.timeZone,
      pageSize: config.links.pageSize,
      // Only in this mode callers bring their own keys.
      ownKey: auth.mode !== 'passthrough',
      maxKeys: auth.mode === 'passthrough' ? config.passthroughMaxKeys : Number.POSITIVE_INFINITY,
      freshness,
      settleMs: config.writeSettleMs ?? config.links.timeoutMs / 2,
      onSurprise: (field) => events.emit('surprise', { upstream: 'LINKS', field }),
    });
  const market =
    endpoints.market &&
    createBackend(config.market, world, {
      maxCallsPerOperation: config.operationMaxCalls ?? undefined,
      api: createMarketApi(config.market.postEncoding),
      baseUrl: endpoints.market.baseUrl,
      timeZone: 'UTC',
      pageSize: WHOLE_LISTS,
      ownKey: true,
      maxKeys: Number.POSITIVE_INFINITY,
      freshness,
      settleMs: config.writeSettleMs ?? config.market.timeoutMs / 2,
      onSurprise: (field) => events.emit('surprise', { upstream: 'MARKET', field }),
    });
  return { links, market, clients: [links, market].flatMap((backend) => backend?.client ?? []) };
}

/** What differs between the two. */
type OwnOptions = Required<
  Pick<
    ClientOptions,
    'api' | 'baseUrl' | 'timeZone' | 'maxKeys' | 'maxCallsPerOperation' | 'freshness' | 'onSurprise'
  >
> & { readonly pageSize: number; readonly ownKey: boolean; readonly settleMs: number };

function createBackend(
  {
    classes,
    jobsMinPerMinute,
    rateLimit,
    rateWindowMs,
    reserves,
    timeoutMs,
  }: Omit<UpstreamConfig, 'endpoint'>,
  {
    cache,
    clock,
    counts,
    digest,
    dispatcher,
    events,
    records,
    savedCache,
    slots,
    witness,
  }: BackendWorld,
  {
    api,
    baseUrl,
    freshness,
    maxCallsPerOperation,
    maxKeys,
    onSurprise,
    ownKey,
    pageSize,
    settleMs,
    timeZone,
  }: OwnOptions,
): Backend {
  // By name, so that TypeScript rejects anything that the client does not use, an API key above all.
  const client = new Client({
    api,
    baseUrl,
    cache,
    clock,
    counts,
    digest,
    dispatcher,
    events,
    freshness,
    maxCallsPerOperation,
    maxKeys,
    onForgotten: (partition) => lists.forget(partition),
    onSurprise,
    rateLimit,
    rateWindowMs,
    reserves,
    classes,
    jobsMinPerMinute,
    records,
    savedCache,
    slots,
    settleMs,
    timeZone,
    timeoutMs,
    witness: witness({ upstream: api.upstream, baseUrl, timeoutMs, ownKey }),
  });
  const lists = new Lists(client, pageSize);
  return { client, lists };
}
