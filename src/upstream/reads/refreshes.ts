import { inBackground } from '../../scheduling/at-once.ts';
import type { Budgets } from '../budget/budgets.ts';
import type { Cache } from '../cache/cache.ts';
import type { KeyedRead } from '../cache/key.ts';
import type { RefreshedFor, Refresher } from '../cache/refresher.ts';
import type { Fetcher } from './fetch.ts';
import type { InFlight } from './in-flight.ts';
import type { SharedCache } from './shared-cache.ts';

interface RefreshesOptions {
  readonly budgets: Budgets;
  readonly cache: Cache;
  readonly fetcher: Fetcher;
  readonly inFlight: InFlight;
  readonly refresher: Refresher;
  readonly sharedCache: SharedCache | null;
}

/** The reads that no caller waits for. */
export class Refreshes {
  readonly #options: RefreshesOptions;

  constructor(options: RefreshesOptions) {
    this.#options = options;
  }

  /** Asks for a newer answer, unless a request for it is in flight. At most 1 upstream call, in the refresh lane. */
  refresh(of: KeyedRead, forWhom: RefreshedFor): void {
    const { budgets, refresher, sharedCache } = this.#options;
    if (this.#isInFlight(of.key, forWhom) || refresher.isBackingOff(of.key)) return;
    if (!budgets.hasRoomFor(of.credential.partition)) return;
    if (sharedCache) inBackground(this.#refreshUnlessShared(sharedCache, of, forWhom));
    else this.#options.fetcher.open(of, { refreshFor: forWhom });
  }

  /** The same, unless another replica has a newer answer already. */
  async #refreshUnlessShared(
    sharedCache: SharedCache,
    of: KeyedRead,
    forWhom: RefreshedFor,
  ): Promise<void> {
    const { cache, fetcher, refresher } = this.#options;
    const { key } = of;
    const before = cache.peek(key)?.entry;
    await sharedCache.prefetch(of);
    if (cache.peek(key)?.entry !== before || this.#isInFlight(key, forWhom)) return;
    if (forWhom === 'watchers' && !refresher.watches.has(key)) return;
    fetcher.open(of, { refreshFor: forWhom });
  }

  /** Whether there is a request for it already, which is then for these too. */
  #isInFlight(key: string, forWhom: RefreshedFor): boolean {
    const found = this.#options.inFlight.find(key);
    if (found && forWhom === 'readers') found.forWatchers = false;
    return found !== undefined;
  }
}
