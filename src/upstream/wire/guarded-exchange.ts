import type { GatewayError, UpstreamName } from '../../errors.ts';
import type { Observer } from '../../observe/observer.ts';
import type { Call } from '../request.ts';
import { Breaker } from './breaker.ts';
import type { Exchanged, ExchangeOptions } from './exchange.ts';
import { isOutage, outOfOrder } from './failure.ts';
import { observedExchange } from './observed-exchange.ts';

/** Exchanges with one upstream behind its circuit breaker. */
export class GuardedExchange {
  readonly #options: ExchangeOptions & { readonly observer?: Observer };
  readonly #breaker: Breaker;

  constructor(options: ExchangeOptions & { readonly observer?: Observer }) {
    this.#options = options;
    this.#breaker = new Breaker(options.clock);
  }

  get upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** Why a request stays here while the breaker is open: `UPSTREAM_UNAVAILABLE`. */
  get heldBack(): GatewayError | undefined {
    const { openMs } = this.#breaker;
    return openMs === 0 ? undefined : outOfOrder(this.#options.api.upstream, openMs);
  }

  /**
   * Sends a request: 1 upstream call. Learns from the answer whether the upstream is in order. `operation`
   * stands for whom it leaves for.
   */
  async send<T>(
    call: Call<T> & { readonly absentIsNull?: boolean },
    secret: string,
    operation: object | undefined,
  ): Promise<Exchanged<T>> {
    this.#breaker.leaving();
    const sent = observedExchange(this.#options, call, secret, operation);
    // A mistake of ours says nothing about the upstream, and must not leave the breaker half-open.
    sent.catch(() => this.#breaker.succeeded());
    const exchanged = await sent;
    const { outcome } = exchanged;
    if (outcome.kind === 'failure' && isOutage(outcome.failure)) {
      this.#breaker.failed(call.path, outcome.failure);
    } else {
      this.#breaker.succeeded();
    }
    return exchanged;
  }
}
