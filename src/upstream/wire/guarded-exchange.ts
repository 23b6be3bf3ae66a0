import type { GatewayError, UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Call } from '../request.ts';
import { Breaker } from './breaker.ts';
import type { Exchanged, ExchangeOptions } from './exchange.ts';
import { faultOf, outOfOrder } from './failure.ts';
import { type Departing, kindOf, observedExchange } from './observed-exchange.ts';

/** Exchanges with one upstream behind its circuit breaker. */
export class GuardedExchange {
  readonly #options: ExchangeOptions & { readonly events?: EventStream };
  readonly #breaker: Breaker;

  constructor(options: ExchangeOptions & { readonly events?: EventStream }) {
    this.#options = options;
    this.#breaker = new Breaker(options.clock);
  }

  get upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** Why a request stays here while the breaker is open: `UPSTREAM_UNAVAILABLE`. */
  get heldBack(): GatewayError | undefined {
    return this.#outOfOrder(this.#breaker.openMs);
  }

  /** The same for one that is about to leave. */
  heldBackFor(call: Call<unknown>): GatewayError | undefined {
    return this.#outOfOrder(this.#breaker.openMsFor(kindOf(call)));
  }

  /**
   * Sends a request: 1 upstream call. Learns from the answer whether the upstream is in order.
   */
  async send<T>(
    call: Call<T> & { readonly absentIsNull?: boolean },
    secret: string,
    departing: Departing,
    mayLeave?: () => boolean,
  ): Promise<Exchanged<T>> {
    // How long the bytes of a stream take is up to who sends them.
    const departure = this.#breaker.leaving(kindOf(call), call.stream === undefined);
    const sent = observedExchange(this.#options, call, secret, departing, mayLeave);
    // A mistake of ours says nothing about the upstream, and must not leave the breaker half-open.
    sent.catch(() => departure.ended());
    const exchanged = await sent;
    const { outcome } = exchanged;
    const fault = outcome.kind === 'failure' ? faultOf(outcome.failure, call) : null;
    if (outcome.kind === 'late' || fault === 'caller') departure.ended();
    else if (fault === null) departure.answered();
    else departure.failed(fault);
    return exchanged;
  }

  #outOfOrder(openMs: number): GatewayError | undefined {
    return openMs === 0 ? undefined : outOfOrder(this.#options.api.upstream, openMs);
  }
}
