import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { Slot } from './budget/budget.ts';
import type { Budgets } from './budget/budgets.ts';
import type { Cache, Hit } from './cache/cache.ts';
import { everythingOf, scopeOf } from './cache/key.ts';
import type { Refresher } from './cache/refresher.ts';
import type { Call } from './request.ts';
import type { SharedRequests } from './requests/shared-requests.ts';
import type { Exchanged } from './wire/exchange.ts';
import type { GuardedExchange } from './wire/guarded-exchange.ts';
import type { Departing } from './wire/observed-exchange.ts';

interface KeyStandingOptions {
  readonly exchange: GuardedExchange;
  readonly cache: Cache;
  readonly budgets: Budgets;
  readonly shared: SharedRequests;
  readonly refresher: Refresher;
  /** Told of each partition of which nothing is known any more. */
  readonly onForgotten: ((partition: string) => void) | undefined;
}

/** Requests of one key between two refusals. */
interface Era {
  inFlight: number;
  over: boolean;
}

/**
 * Knows of each key what the upstream has last said of it. What a caller's own key has read is forgotten
 * the moment that the key is refused: from then on it reads nothing that the upstream does not give it
 * anew. What the gateway's own key has read is kept, and served while it is fresh; what is older is held
 * back until the upstream accepts the key again, so that an expired key does not look like a good one.
 *
 * Only `unauthenticated` is about the key. One that may not do a single thing is a good key.
 */
export class KeyStanding {
  readonly #options: KeyStandingOptions;
  /** The partitions of the gateway's own keys that were refused last. */
  readonly #refused = new Set<string>();
  /** By partition, the requests that have left since its key was refused last, if any is in flight. */
  readonly #eras = new Map<string, Era>();

  constructor(options: KeyStandingOptions) {
    this.#options = options;
  }

  /** The entry that was hit, unless its key stands too badly for one of that age. */
  served(hit: Hit | undefined, { ofCaller, partition }: Credential): Hit | undefined {
    if (hit && hit.state !== 'fresh' && this.#refused.has(partition)) return undefined;
    // Another replica may have learnt that a caller's key is refused.
    if (!hit || !ofCaller) return hit;
    const { cache, exchange } = this.#options;
    const everything = everythingOf(scopeOf(exchange.upstream, partition));
    return cache.holds([everything], hit.entry.stamp.generation) ? hit : undefined;
  }

  /** Sends a request, as `GuardedExchange.send` does, and learns from its answer. 1 upstream call. */
  async send<T>(
    call: Call<T> & { readonly absentIsNull?: boolean },
    credential: Credential,
    departing: Departing,
    { mayLeave }: Slot,
  ): Promise<Exchanged<T>> {
    const era = this.#enter(credential.partition);
    let exchanged: Exchanged<T>;
    try {
      exchanged = await this.#options.exchange.send(call, credential.secret, departing, mayLeave);
    } finally {
      this.#leave(credential.partition, era);
    }
    const { outcome } = exchanged;
    if (outcome.kind === 'late') return exchanged;
    if (outcome.kind === 'value' && outcome.value !== null) {
      // What left before a refusal says nothing of the time after it.
      if (!era.over) this.#accept(credential);
    } else if (outcome.kind === 'failure' && outcome.failure.kind === 'unauthenticated') {
      await this.#refuse(call, credential);
    } else {
      this.#options.budgets.notAccepted(credential);
    }
    return exchanged;
  }

  #enter(partition: string): Era {
    const era = this.#eras.get(partition) ?? { inFlight: 0, over: false };
    era.inFlight += 1;
    this.#eras.set(partition, era);
    return era;
  }

  #leave(partition: string, era: Era): void {
    era.inFlight -= 1;
    if (era.inFlight === 0 && this.#eras.get(partition) === era) this.#eras.delete(partition);
  }

  #accept(credential: Credential): void {
    this.#refused.delete(credential.partition);
    this.#options.budgets.accepted(credential);
  }

  #endEra(partition: string): void {
    const era = this.#eras.get(partition);
    if (era) era.over = true;
    this.#eras.delete(partition);
  }

  /** Forgets what was read with a key; where there are other replicas, until they have too. */
  #refuse(call: Call<unknown>, credential: Credential): AtOnce<void> {
    const { budgets, cache, exchange, onForgotten, refresher, shared } = this.#options;
    const { ofCaller, partition } = credential;
    if (!ofCaller) {
      // Callers choose what is written, and with it perhaps the words in which that is refused.
      if (!('resource' in call)) return undefined;
      this.#endEra(partition);
      this.#refused.add(partition);
      return undefined;
    }
    this.#endEra(partition);
    const scope = scopeOf(exchange.upstream, partition);
    shared.forget(scope);
    refresher.forget(partition);
    budgets.refused(credential);
    onForgotten?.(partition);
    // Those who watch are told by it, and can come back at once.
    cache.forget(scope);
    return cache.touch([everythingOf(scope)]);
  }
}
