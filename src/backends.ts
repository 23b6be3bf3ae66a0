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
import type { Api } from './upstream/request.ts';
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

/** What differs between the two APIs besides their settings. */
interface Differences {
  readonly pageSize: number;
  readonly timeZone: string;
  /** False if callers bring the keys. */
  readonly ownKey: boolean;
}

/** Creates a client and its lists for each API. No client receives a key: requests bring one. */
export function createBackends(
  config: Config,
  endpoints: Endpoints,
  world: BackendWorld,
): Backends {
  const { cache, clock, counts, digest, dispatcher, events, records, savedCache, slots, witness } =
    world;
  const freshness = perResource((resource) => ({
    ttlMs: config.ttlMs[resource],
    staleWhileRevalidateMs: config.staleWhileRevalidateMs,
    staleIfErrorMs: config.staleIfErrorMs,
  }));
  const create = (
    api: Api,
    baseUrl: string,
    // By name, so that no API key is among them.
    { classes, jobsMinPerMinute, rateLimit, rateWindowMs, reserves, timeoutMs }: UpstreamConfig,
    { ownKey, pageSize, timeZone }: Differences,
  ): Backend => {
    const { upstream } = api;
    const client = new Client({
      api,
      baseUrl,
      cache,
      classes,
      clock,
      counts,
      digest,
      dispatcher,
      events,
      freshness,
      jobsMinPerMinute,
      maxCallsPerOperation: config.operationMaxCalls ?? undefined,
      maxKeys: ownKey ? Number.POSITIVE_INFINITY : config.passthroughMaxKeys,
      onForgotten: (partition) => lists.forget(partition),
      onSurprise: (field) => events.emit('surprise', { upstream, field }),
      rateLimit,
      rateWindowMs,
      records,
      reserves,
      savedCache,
      settleMs: config.writeSettleMs ?? timeoutMs / 2,
      slots,
      timeZone,
      timeoutMs,
      witness: witness({ upstream, baseUrl, timeoutMs, ownKey }),
    });
    const lists = new Lists(client, pageSize);
    return { client, lists };
  };
  const { auth, links: ofLinks, market: ofMarket } = config;
  const links =
    endpoints.links &&
    create(linksApi, endpoints.links.baseUrl, ofLinks, {
      pageSize: ofLinks.pageSize,
      timeZone: ofLinks.timeZone,
      // Only in this mode callers bring their own keys.
      ownKey: auth.mode !== 'passthrough',
    });
  const market =
    endpoints.market &&
    create(createMarketApi(ofMarket.postEncoding), endpoints.market.baseUrl, ofMarket, {
      pageSize: WHOLE_LISTS,
      timeZone: 'UTC',
      ownKey: true,
    });
  return { links, market, clients: [links, market].flatMap((backend) => backend?.client ?? []) };
}
