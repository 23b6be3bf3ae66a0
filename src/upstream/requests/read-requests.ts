import { inBackground } from '../../at-once.ts';
import type { Credential } from '../../auth/credential.ts';
import type { Clock } from '../../clock.ts';
import type { UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Resource } from '../../resources.ts';
import type { Budget, SharedResult, Slot } from '../budget/budget.ts';
import type { Cache, Freshness } from '../cache/cache.ts';
import { type KeyedRead, tagsInFlight } from '../cache/key.ts';
import type { RefreshedFor, Refresher } from '../cache/refresher.ts';
import { doubtsOf } from '../cache/shared-generations.ts';
import type { CachedReads } from '../cached-reads.ts';
import type { KeyStanding } from '../key-standing.ts';
import type { Caller } from '../operation.ts';
import type { Receipt } from '../receipt.ts';
import type { SharedCache } from '../shared-cache.ts';
import { isLost, readError, readErrorOf } from '../wire/failure.ts';
import type { GuardedExchange } from '../wire/guarded-exchange.ts';
import type { Departing } from '../wire/observed-exchange.ts';
import type { Attempt } from './attempt.ts';
import { SharedRequest } from './shared-request.ts';
import type { ReadInFlight, SharedRequests } from './shared-requests.ts';

/** What every request of a credential has. */
export interface RequestOptions {
  readonly upstream: UpstreamName;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly events: EventStream | undefined;
}

interface ReadRequestsOptions {
  readonly cache: Cache;
  readonly cached: CachedReads;
  /** What other replicas have; `null` where there are none. */
  readonly sharedCache: SharedCache | null;
  readonly exchange: GuardedExchange;
  readonly freshness: (resource: Resource) => Freshness;
  readonly refresher: Refresher;
  readonly shared: SharedRequests;
  readonly standing: KeyStanding;
  /** Whether a partition has a budget, or can have one. */
  readonly hasRoomFor: (partition: string) => boolean;
  /** Makes the credential's budget if there is none. */
  readonly requestOptions: (credential: Credential) => RequestOptions;
}

/** The requests for reads: made, tried, and their answers stored, for those who wait and for all who come later. */
export class ReadRequests {
  readonly #options: ReadRequestsOptions;

  constructor(options: ReadRequestsOptions) {
    this.#options = options;
  }

  get #upstream(): UpstreamName {
    return this.#options.exchange.upstream;
  }

  /** Asks for a newer answer behind the readers' backs, unless a request for it is in flight. */
  refresh(of: KeyedRead, forWhom: RefreshedFor): void {
    if (this.#isOnItsWay(of.key, forWhom) || this.#options.refresher.isBackingOff(of.key)) return;
    if (!this.#options.hasRoomFor(of.credential.partition)) return;
    if (this.#options.sharedCache) inBackground(this.#refreshUnlessElsewhere(of, forWhom));
    else this.#openRefresh(of, forWhom);
  }

  /** Takes a refresh back that is for those who watched its key, if it has not been sent and nobody waits for it. */
  takeBack(key: string): void {
    this.#options.shared.get(key)?.request.cancelIfUnwanted();
  }

  /** The same, unless another replica has a newer answer already. */
  async #refreshUnlessElsewhere(of: KeyedRead, forWhom: RefreshedFor): Promise<void> {
    const { key } = of;
    const before = this.#options.cache.peek(key)?.entry;
    await this.#options.sharedCache?.prefetch(of);
    if (this.#options.cache.peek(key)?.entry !== before || this.#isOnItsWay(key, forWhom)) return;
    if (forWhom === 'watchers' && !this.#options.refresher.watches.has(key)) return;
    this.#openRefresh(of, forWhom);
  }

  /** Whether there is a request for it already, which is then for these too. */
  #isOnItsWay(key: string, forWhom: RefreshedFor): boolean {
    const { shared } = this.#options;
    if (!shared.find(key)) return false;
    const open = shared.get(key);
    if (open && forWhom === 'readers') open.forWatchers = false;
    return true;
  }

  #openRefresh(of: KeyedRead, forWhom: RefreshedFor): void {
    // The oldest answer is refreshed first, whatever the order in which they were asked for.
    this.open(of, { refreshFor: forWhom });
  }

  /** Makes a request for a read, which waits for its turn and can be shared until it is answered. */
  open<T>(
    of: KeyedRead<T>,
    purpose: { readonly caller: Caller } | { readonly refreshFor: RefreshedFor },
  ): SharedRequest<T> {
    const { refresher } = this.#options;
    const { credential, key, read } = of;
    let attempts = 0;
    const request = new SharedRequest<T>({
      ...this.#options.requestOptions(credential),
      resource: read.resource,
      ...('caller' in purpose
        ? { lane: 'interactive', caller: purpose.caller.name, planned: purpose.caller.receipt }
        : {
            lane: 'refresh',
            caller: '',
            urgency: () => refresher.urgencyOf(key),
            isWanted: () => !open.forWatchers || refresher.watches.has(key),
          }),
      ...(this.#options.sharedCache ? this.#sharing(this.#options.sharedCache, of) : {}),
      attempt: (payer, departing, slot) => {
        attempts += 1;
        const mayRepeat = attempts === 1;
        return this.#attemptRead(of, open, { payer, departing, slot, mayRepeat });
      },
    });
    const forWatchers = 'refreshFor' in purpose && purpose.refreshFor === 'watchers';
    const open: ReadInFlight<T> = { read, request, stamp: null, forWatchers };
    this.#options.shared.add(key, open as ReadInFlight);
    request.enqueue();
    return request;
  }

  /** Tries once to get the answer to a read, and stores it. */
  async #attemptRead<T>(
    of: KeyedRead<T>,
    open: ReadInFlight<T>,
    {
      payer,
      departing,
      slot,
      mayRepeat,
    }: {
      readonly payer: Receipt | undefined;
      readonly departing: Departing;
      readonly slot: Slot;
      readonly mayRepeat: boolean;
    },
  ): Promise<Attempt<T>> {
    const { cache, cached, sharedCache } = this.#options;
    const { credential, key, read } = of;
    // What a write has made wrong is read anew by the next who asks, and not before.
    const renews = cache.peek(key) !== undefined;
    if (!payer && !renews) return { kind: 'unsent' };
    const heldBack = this.#options.exchange.heldBackFor(read);
    if (heldBack) return { kind: 'unsent', error: heldBack };
    payer?.sent(this.#upstream, key);
    const stamp = slot.stamp ?? cache.stamp();
    open.stamp = stamp;
    const { feedback, outcome } = await this.#options.standing.send(
      read,
      credential,
      { ...departing, renews },
      slot,
    );
    if (outcome.kind === 'late') {
      payer?.notSent(this.#upstream, key);
      open.stamp = null;
      return { kind: 'late' };
    }
    const again = outcome.kind === 'failure' && isLost(outcome.failure) && mayRepeat;
    if (again || outcome.kind === 'refused') {
      // What goes again shows the writes up to then.
      open.stamp = null;
      return { kind: again ? 'again' : 'refused', feedback };
    }
    if (outcome.kind === 'failure') {
      this.#options.refresher.failed(key);
      const error = readError(this.#upstream, outcome.failure);
      return { kind: 'error', feedback, error, result: { kind: 'failed', code: error.code } };
    }
    const { bytes, value } = outcome;
    if (sharedCache) read.page?.stamped(value, stamp.storedAt);
    const answer = { value, bytes, stamp };
    const isKept = !open.orphaned && cached.store(of, answer) && sharedCache?.keep(of, answer);
    const result: SharedResult | undefined = isKept ? { kind: 'shared' } : undefined;
    return { kind: 'value', feedback, value, result };
  }

  /** What other replicas have to know of a read in flight, and what theirs come to here. */
  #sharing<T>(
    sharedCache: SharedCache,
    of: KeyedRead<T>,
  ): Pick<ConstructorParameters<typeof SharedRequest<T>>[0], 'sharing' | 'elsewhere'> {
    const { cache, cached, freshness } = this.#options;
    const { credential, key, read } = of;
    const scoped = cached.tagsOf(tagsInFlight(read), credential);
    const sharedAt = (): number => cache.peek(key)?.entry.stamp.shared?.at ?? 0;
    return {
      sharing: {
        key: sharedCache.nameOf(of),
        tags: [...scoped, ...doubtsOf(scoped)],
        ttlMs: freshness(read.resource).ttlMs,
        newerThan: sharedAt,
      },
      elsewhere: async (result) => {
        if (result.kind === 'failed') {
          const error = readErrorOf(this.#upstream, result.code);
          if (error) this.#options.refresher.failed(key);
          return error && { error };
        }
        const before = sharedAt();
        await sharedCache.prefetch(of);
        const hit = cached.find(of);
        const isNewer = hit !== undefined && sharedAt() > before && hit.state !== 'fallback';
        return isNewer ? { value: hit.entry.value } : null;
      },
    };
  }
}
