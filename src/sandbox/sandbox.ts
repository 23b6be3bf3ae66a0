import { machineClock, type SandboxClock } from './clock.ts';
import type { IsLocal } from './http/fault-door.ts';
import type { Fault } from './http/faults.ts';
import type { LoggedRequest } from './http/log.ts';
import type { MaxLimit } from './http/paging.ts';
import { RateLimiter, type RateLimitOptions } from './http/rate-limit.ts';
import { ApiServer } from './http/server.ts';
import { linksApi } from './links/api.ts';
import { LinksStore } from './links/store.ts';
import { marketApi } from './market/api.ts';
import { MarketStore } from './market/store.ts';
import { seedLinks } from './seed/links.ts';
import { MARKET_KEYS, PURCHASE_CODES, seedMarket } from './seed/market.ts';
import { LINK_KEYS } from './seed/people.ts';

export type { SandboxClock } from './clock.ts';
export type { Fault } from './http/faults.ts';
export type { LoggedRequest } from './http/log.ts';

/** Options of a sandbox, with their defaults. */
export interface SandboxOptions {
  /** Port of the link API; default 0, any free one. */
  linksPort?: number;
  /** Port of the marketplace API; default 0, any free one. */
  marketPort?: number;
  /** Address it listens on; default 127.0.0.1. */
  host?: string;
  /** Default: the machine's time. */
  clock?: SandboxClock;
  /** Limit of the link API; default 30 requests in 60 000 ms, `fixed`, `epoch-seconds`. */
  limit?: Partial<RateLimitOptions>;
  /** Limit of the marketplace API; its documentation has none, so the default is none. */
  marketLimit?: { requests?: number; windowMs?: number };
  /** Maximum of `limit` of list endpoints, or of each by its path; default 100. */
  maxLimit?: MaxLimit;
  /** Prefix of all paths, such as `/s`; default none. */
  pathPrefix?: string;
  /** Decides who may set faults by HTTP; default nobody. */
  isLocal?: IsLocal;
}

/** One of the two APIs: its address, its log of requests, and its scripted faults. */
export interface SandboxApi {
  /** Base address without a slash at the end, path prefix included. */
  readonly url: string;
  /** Key of the account for a gateway; for the link API that of an admin. */
  readonly key: string;
  /** Every request that reached /api since the log was cleared, in order of arrival. */
  readonly requests: readonly LoggedRequest[];
  clearLog(): void;
  /** Scripts a fault and returns its remover. */
  fault(fault: Fault): () => void;
  clearFaults(): void;
}

/** Both APIs, running. */
export interface Sandbox {
  readonly links: SandboxApi & {
    readonly keys: { admin: string; pro: string; free: string; expired: string };
    /** Counts `n` requests of a co-tenant, which uses the admin key too. */
    spend(n: number): void;
  };
  readonly market: SandboxApi & {
    /** The keys of `key` and of a seller without items. */
    readonly keys: { seller: string; empty: string };
    readonly purchaseCodes: { valid: string[]; invalid: string[] };
  };
  /** Resets data, limits, logs and faults to their initial state. */
  reset(): void;
  close(): Promise<void>;
}

/** Starts both APIs on real sockets; rejects when a port is in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const clock = options.clock ?? machineClock;
  const { host = '127.0.0.1', isLocal = () => false, pathPrefix } = options;
  const place = { host, isLocal, prefix: tidyPrefix(pathPrefix) };
  const linksLimiter = new RateLimiter(
    {
      requests: 30,
      windowMs: 60_000,
      mode: 'fixed',
      resetFormat: 'epoch-seconds',
      ...options.limit,
    },
    clock,
  );
  const { requests = Number.POSITIVE_INFINITY, windowMs = 60_000 } = options.marketLimit ?? {};
  const marketLimiter = new RateLimiter(
    { requests, windowMs, mode: 'fixed', resetFormat: 'none' },
    clock,
  );
  const links = new ApiServer({ ...place, port: options.linksPort ?? 0 }, linksLimiter, clock);
  const market = new ApiServer({ ...place, port: options.marketPort ?? 0 }, marketLimiter, clock);
  const defineLinks = (url: string) => {
    const store = new LinksStore(url, clock, options.maxLimit ?? 100);
    seedLinks(store);
    return linksApi(store);
  };
  const defineMarket = (url: string) => {
    const store = new MarketStore(url);
    seedMarket(store);
    return marketApi(store);
  };
  await links.start(defineLinks);
  try {
    await market.start(defineMarket);
  } catch (error) {
    await links.close();
    throw error;
  }
  return {
    links: {
      ...door(links, LINK_KEYS.admin),
      // Clearing replaces the log, so each read gets the current one.
      get requests() {
        return links.log;
      },
      keys: { ...LINK_KEYS },
      spend: (n) => linksLimiter.spend(`key ${LINK_KEYS.admin}`, n),
    },
    market: {
      ...door(market, MARKET_KEYS.seller),
      get requests() {
        return market.log;
      },
      keys: { ...MARKET_KEYS },
      purchaseCodes: { valid: [...PURCHASE_CODES.valid], invalid: [...PURCHASE_CODES.invalid] },
    },
    reset() {
      for (const [server, define] of [
        [links, defineLinks],
        [market, defineMarket],
      ] as const) {
        server.define(define(server.url));
        server.log = [];
        server.faults.clear();
      }
      linksLimiter.clear();
      marketLimiter.clear();
    },
    async close() {
      await Promise.all([links.close(), market.close()]);
    },
  };
}

function door(server: ApiServer, key: string): Omit<SandboxApi, 'requests'> {
  return {
    url: server.url,
    key,
    clearLog() {
      server.log = [];
    },
    fault(fault) {
      const { id } = server.faults.add(fault);
      return () => void server.faults.remove(id);
    },
    clearFaults: () => server.faults.clear(),
  };
}

function tidyPrefix(prefix = ''): string {
  const bare = prefix.replace(/^\/+|\/+$/g, '');
  return bare && `/${bare}`;
}
