import type { Credential } from '../../auth/credential.ts';
import type { GatewayError, UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Call } from '../request.ts';
import { Breaker } from './breaker.ts';
import type { Exchanged, ExchangeOptions } from './exchange.ts';
import { faultOf, outOfOrder } from './failure.ts';
import { KeyAuthorization, type KeyConsequences } from './key-authorization.ts';
import { type Departing, kindOf, observedExchange } from './observed-exchange.ts';
import { NO_FEEDBACK } from './rate-limit-headers.ts';

/** A request that stayed here, since the circuit breaker is open. */
interface HeldBack {
  readonly kind: 'heldBack';
  readonly error: GatewayError;
}

/** What came of a request that was to be sent. */
interface Sent<T> extends Omit<Exchanged<T>, 'outcome'> {
  readonly outcome: Exchanged<T>['outcome'] | HeldBack;
}

/** One upstream as requests are sent to it: behind its circuit breaker, observed, each key as the upstream sees it. */
export class Wire {
  readonly #options: ExchangeOptions & { readonly events?: EventStream };
  readonly #breaker: Breaker;
  /** What the upstream says of keys. */
  readonly authorization: KeyAuthorization;

  constructor(
    options: ExchangeOptions & { readonly events?: EventStream },
    consequences: KeyConsequences,
  ) {
    this.#options = options;
    this.#breaker = new Breaker(options.clock);
    this.authorization = new KeyAuthorization(consequences);
  }

  get #upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** Why a request stays here while the breaker is open: `UPSTREAM_UNAVAILABLE`. */
  get heldBack(): GatewayError | undefined {
    const { openMs } = this.#breaker;
    return openMs === 0 ? undefined : outOfOrder(this.#upstream, openMs);
  }

  /**
   * Sends a request: 1 upstream call, none while the breaker is open for it, or where it might not leave any more.
   * Learns from the answer whether the upstream is in order, and what it says of the key.
   */
  async send<T>(
    call: Call<T> & { readonly absentIsNull?: boolean },
    credential: Credential,
    departing: Departing,
    mayLeave: () => boolean,
  ): Promise<Sent<T>> {
    const kind = kindOf(call);
    const openMs = this.#breaker.openMsFor(kind);
    if (openMs > 0) {
      const error = outOfOrder(this.#upstream, openMs);
      return { feedback: NO_FEEDBACK, outcome: { kind: 'heldBack', error } };
    }
    // How long the bytes of a stream take is up to who sends them.
    const departure = this.#breaker.leaving(kind, call.stream === undefined);
    const sent = observedExchange(this.#options, call, credential.secret, departing, mayLeave);
    // A mistake of ours says nothing about the upstream, and must not leave the breaker half-open.
    sent.catch(() => departure.ended());
    const judged = sent.then((exchanged) => {
      const { outcome } = exchanged;
      const fault = outcome.kind === 'failure' ? faultOf(outcome.failure, call) : null;
      if (outcome.kind === 'late' || fault === 'caller') departure.ended();
      else if (fault === null) departure.answered();
      else departure.failed(fault);
      return exchanged;
    });
    return this.authorization.learn(call, credential, judged);
  }
}
