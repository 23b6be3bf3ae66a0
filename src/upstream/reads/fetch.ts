import type { Credential } from '../../auth/credential.ts';
import type { GatewayError, UpstreamName } from '../../errors.ts';
import { type AtOnce, inBackground } from '../../scheduling/at-once.ts';
import type { Budgets } from '../budget/budgets.ts';
import type { Slot } from '../budget/key-budget-store.ts';
import type { Cache, Hit } from '../cache/cache.ts';
import { tagsInFlight } from '../cache/key.ts';
import type { RefreshedFor, Refresher } from '../cache/refresher.ts';
import type { CachedReads } from '../cached-reads.ts';
import { FallbackWillDo, fallbackWaitMs, servesAfter } from '../fallback.ts';
import { type Access, type Caller, mostCallsOf, waitsAs } from '../operation.ts';
import type { Call, KeyedRead } from '../request.ts';
import type { ReceivedValue } from '../wire/exchange.ts';
import { type Failure, isLost, notSaved, readError } from '../wire/failure.ts';
import { type Feedback, NO_FEEDBACK } from '../wire/rate-limit-headers.ts';
import type { Wire } from '../wire/wire.ts';
import type { InFlight, ReadInFlight } from './in-flight.ts';
import type { Outcome } from './waiter.ts';
import { Waiters, type WaitersWorld } from './waiters.ts';

interface FetcherOptions extends WaitersWorld {
  readonly budgets: Budgets;
  readonly cache: Cache;
  readonly cached: CachedReads;
  readonly inFlight: InFlight;
  readonly refresher: Refresher;
  readonly wire: Wire;
}

/**
 * The steps of a read that the cache of this process does not serve: cache > coalesce > limiter > send > retry. `fetch`
 * is for readers, `refresh` for background reads.
 */
export class Fetcher {
  readonly #options: FetcherOptions;

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  /**
   * Returns the response of a request, or a cached one if nothing newer is available. `known` is the entry that cannot
   * be served immediately. Costs 0 or 1 upstream request.
   * @throws GatewayError with any `UPSTREAM_...` code, `BUDGET_EXHAUSTED` or `OPERATION_TOO_EXPENSIVE`.
   */
  async fetch<T>(of: KeyedRead<T>, { caller }: Access, known?: Hit): Promise<T> {
    const { cached, refresher } = this.#options;
    // A job that does not accept the entry has no use for it later.
    const strict = of.read.strict || caller.bulk !== undefined;
    // After a write with an unknown outcome, the full wait applies: the response shows the outcome.
    const mayFallBack = !strict && known && !refresher.isUnsettled(of.key, known);
    let fallback = mayFallBack ? known : undefined;
    for (;;) {
      try {
        return await this.#share(of, caller, fallback);
      } catch (error) {
        const hit = cached.find(of, caller);
        // A write has touched the entry that would have been sufficient.
        const isTouched = !hit || refresher.isUnsettled(of.key, hit);
        if (error instanceof FallbackWillDo && isTouched) {
          fallback = undefined;
          continue;
        }
        if (!hit || strict || !servesAfter(error)) throw error;
        caller.receipt.ingredients.add(cached.ingredient(of, hit, true));
        return hit.entry.value;
      }
    }
  }

  /** Coalesce: waits for the request in flight, or creates one if the operation may; with a fallback, only briefly. */
  async #share<T>(of: KeyedRead<T>, caller: Caller, fallback: Hit | undefined): Promise<T> {
    const { budgets, cached, events, inFlight, upstream, wire } = this.#options;
    const { credential, key, read } = of;
    const { spending } = caller.receipt;
    // If there is no room for its key, the error costs the operation nothing.
    budgets.of(credential);
    let joined = inFlight.find(key);
    for (let isPaid = false; !joined && !isPaid; ) {
      const expected = inFlight.expect(key);
      try {
        if (wire.heldBack) throw wire.heldBack;
        const rows = read.page?.further;
        const batch = rows === undefined ? read.resource : `${read.resource} ${read.path}`;
        const limit = mostCallsOf(caller, budgets.maxCalls(credential));
        const hasFallback = fallback !== undefined;
        isPaid = await spending.admit({ upstream, batch, key, rows, hasFallback, limit, expected });
      } finally {
        expected.end();
      }
      joined = inFlight.find(key);
      if (isPaid && joined) spending.giveBack(upstream);
    }
    const result = joined ? 'coalesced' : 'miss';
    events?.emit('read', { upstream, resource: read.resource, result });
    const waitMs = fallback && fallbackWaitMs(caller, fallback, joined?.waiters.ageMs ?? 0);
    const flight = (joined ?? this.#open(of, { caller })) as ReadInFlight<T>;
    const value = await flight.waiters.wait(caller, waitMs);
    // Unless the request was sent for this operation.
    caller.receipt.joined(key, { upstream, resource: read.resource });
    cached.waited(flight, value, caller.receipt);
    return value;
  }

  /**
   * Sends a request for a newer response in the background, and returns true, unless one is in flight or it may not
   * be sent now. Costs at most 1 upstream request.
   */
  refresh(of: KeyedRead, forWhom: RefreshedFor): boolean {
    const { budgets, refresher } = this.#options;
    if (this.#isRefreshed(of.key, forWhom) || refresher.isBackingOff(of.key)) return false;
    if (!budgets.hasRoomFor(of.credential.partition)) return false;
    this.#open(of, { refreshFor: forWhom });
    return true;
  }

  /** Whether a request for it is in flight, which then serves these too. */
  #isRefreshed(key: string, forWhom: RefreshedFor): boolean {
    const found = this.#options.inFlight.find(key);
    if (found && forWhom !== 'history') {
      found.forHistory = false;
      found.forWatchers &&= forWhom === 'watchers';
    }
    return found !== undefined;
  }

  /** Creates a request for a read. It waits for its turn and can be shared until its response arrives. */
  #open<T>(
    of: KeyedRead<T>,
    purpose: { readonly caller: Caller } | { readonly refreshFor: RefreshedFor },
  ): ReadInFlight<T> {
    const { budgets, cache, clock, events, inFlight, refresher, upstream } = this.#options;
    const { key, read } = of;
    const tags = tagsInFlight(of);
    const refreshFor = 'refreshFor' in purpose ? purpose.refreshFor : null;
    const budget = budgets.of(of.credential);
    const waiters: Waiters<T> = new Waiters<T>({
      upstream,
      clock,
      events,
      budget,
      resource: read.resource,
      ...('caller' in purpose
        ? {
            ...waitsAs(purpose.caller, 'interactive', budget),
            planned: purpose.caller.receipt,
          }
        : {
            lane: 'refresh',
            caller: '',
            isPaid: refreshFor === 'readers',
            // The oldest entry is refreshed first, whatever the order of requests.
            urgency: () => (flight.forHistory ? 0 : refresher.urgencyOf(key)),
          }),
      isWanted: (): boolean => {
        if (flight.forHistory) return true;
        // The next reader reads an invalidated entry again.
        if (cache.peek(key) === undefined) return false;
        const isForWatchers = waiters.lane === 'refresh' && flight.forWatchers;
        return !isForWatchers || refresher.watches.has(key);
      },
    });
    const flight: ReadInFlight<T> = {
      of,
      tags,
      waiters,
      stamp: null,
      forWatchers: refreshFor === 'watchers',
      forHistory: refreshFor === 'history',
    };
    inFlight.add(flight as ReadInFlight);
    inBackground(this.#send(flight));
    return flight;
  }

  /** Limiter > send > retry: takes turns until one returns a response, or no caller waits for it any more. */
  async #send<T>(flight: ReadInFlight<T>): Promise<void> {
    const { inFlight } = this.#options;
    const { waiters } = flight;
    let tries = 0;
    try {
      for (let turn = await waiters.turn(); turn; turn = await waiters.turn()) {
        tries += 1;
        const outcome = await this.#try(flight, turn, tries === 1);
        if (outcome) {
          waiters.end(outcome);
          break;
        }
        // A repeated request includes the writes up to that time.
        flight.stamp = null;
      }
    } finally {
      inFlight.delete(flight as ReadInFlight);
    }
  }

  /** Sends a read in a slot, and stores its response; `null` if it needs another slot. */
  #try<T>(flight: ReadInFlight<T>, slot: Slot, mayRepeat: boolean): AtOnce<Outcome<T> | null> {
    const { cache, cached, refresher, upstream, wire } = this.#options;
    const { of, tags, waiters } = flight;
    const { credential, key, read } = of;
    const renews = cache.peek(key) !== undefined;
    const stamp = cache.stamp();
    flight.stamp = stamp;
    return attempt({ upstream, waiters, wire }, slot, {
      call: read,
      credential,
      key,
      renews,
      settle: ({ feedback, ...answered }) => {
        if (answered.kind === 'value') {
          const { bytes, value } = answered;
          read.page?.stamped(value, stamp.storedAt);
          const entry = cached.entryOf(of, value, stamp);
          flight.entry = entry;
          const readOnce = waiters.isForJobs;
          if (!flight.orphaned) cached.store(of, { entry, bytes, tags, readOnce });
          slot.end(feedback);
          return { value };
        }
        if (mayRepeat && isLost(answered.failure)) {
          slot.end(feedback);
          return null;
        }
        refresher.failed(key);
        const error = readError(upstream, answered.failure);
        slot.end(feedback);
        return { error };
      },
    });
  }
}

/** The result of a sent request, and the information of its response about the budget. */
export type Answered<T> = { readonly feedback: Feedback } & (
  | ReceivedValue<T>
  | { readonly kind: 'failure'; readonly failure: Failure }
);

/** One request in one slot. */
interface SlotCall<T> {
  /** Its name on receipts. */
  readonly key: string;
  /** Whether an older response is known. */
  readonly renews: boolean;
  readonly call: Call<T>;
  readonly credential: Credential;
  /** Ends the slot of a request that was sent; `null` if it must be repeated. */
  readonly settle: (answered: Answered<T>) => Outcome<T> | null;
}

/**
 * Sends a request in its slot, once that is saved: at most 1 upstream request. Resolves with the result for its waiters;
 * `null` if it was not sent, or must be repeated, and needs another slot. Never rejects.
 */
export async function attempt<T>(
  {
    upstream,
    waiters,
    wire,
  }: { readonly upstream: UpstreamName; readonly waiters: Waiters<T>; readonly wire: Wire },
  slot: Slot,
  { call, credential, key, renews, settle }: SlotCall<T>,
): Promise<Outcome<T> | null> {
  try {
    let fault = null as { readonly error: GatewayError } | null;
    const saved = async (saving: Promise<void>): Promise<boolean> => {
      try {
        await saving;
        return waiters.isWanted;
      } catch (error) {
        fault = { error: notSaved(upstream, error) };
        return false;
      }
    };
    const departing = waiters.leaves(key, renews);
    const { feedback, outcome } = await wire.send(call, credential, departing, {
      saved() {
        const saving = slot.saved();
        return saving ? saved(saving) : true;
      },
      mayLeave: slot.mayLeave,
    });
    if (outcome.kind === 'late' || outcome.kind === 'heldBack') {
      waiters.stays(key);
      if (outcome.kind === 'heldBack') fault = outcome;
      if (fault || !waiters.leaveIfUnwanted(slot)) slot.release();
      return fault;
    }
    waiters.answered();
    if (outcome.kind !== 'refused') return settle({ feedback, ...outcome });
    slot.end(feedback);
    return null;
  } catch (error) {
    // A bug of the gateway ends like any other failure: the waiters get it, and the slot counts.
    slot.end(NO_FEEDBACK);
    return { error };
  }
}
