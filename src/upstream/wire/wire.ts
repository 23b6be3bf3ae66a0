import type { Credential } from '../../auth/credential.ts';
import type { GatewayError, UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Asker, RequestOrigin, UpstreamOutcome } from '../../observe/events.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import type { StoreError } from '../../store/engine.ts';
import type { Call } from '../request.ts';
import { Breaker } from './breaker.ts';
import { type Exchanged, type ExchangeOptions, exchange, kindOf, resourceOf } from './exchange.ts';
import {
  faultOf,
  notSaved,
  outOfOrder,
  readError,
  reasonInWords,
  retryAfterMsOf,
} from './failure.ts';
import { type ForgetKey, KeyAuthorization, type Keys, rejectedKey } from './key-authorization.ts';
import { AnnouncedLimit, NO_FEEDBACK } from './rate-limit-headers.ts';
import { WireError } from './send.ts';

/** Why a request is sent, and the object that represents its operation, if there is one. */
export interface Departing extends RequestOrigin {
  readonly operation: object | undefined;
  /** The other operations that now wait for its response. */
  readonly sharedWith: () => readonly Asker[];
}

/** A request with the further members of a read. */
type SentCall<T> = Call<T> & { readonly absentIsNull?: boolean; readonly resource?: string };

/** The outcome of a request. */
interface SentOutcome<T> extends Omit<Exchanged<T>, 'outcome'> {
  /** A request that was not sent, because the circuit breaker is open. */
  readonly outcome:
    | Exchanged<T>['outcome']
    | { readonly kind: 'heldBack'; readonly error: GatewayError };
}

/** When a request may leave. */
interface Leave {
  /** Called when the request counts as sent: whether it may leave, as soon as what must be saved before is saved. */
  readonly saved: () => AtOnce<boolean>;
  /** Whether it may leave, in the turn of its first byte. */
  readonly mayLeave: () => boolean;
}

interface WireOptions extends ExchangeOptions {
  /** The configured number of requests per window and key. */
  readonly rateLimit: number;
  readonly events?: EventStream;
  /** Says why no request may leave, because its slot cannot be saved. */
  readonly slots?: { readonly fault: StoreError | null };
}

const UNSENT = { feedback: NO_FEEDBACK, outcome: { kind: 'late' } } as const;

/** Sends the requests to one upstream: through its circuit breaker, with events, and with the state of each key. */
export class Wire {
  readonly #options: WireOptions;
  readonly #breaker: Breaker;
  readonly #announced: AnnouncedLimit | null;
  /** The kind whose request was last answered 503 with a time, until that kind works; and whether other kinds do. */
  #busy: { readonly kind: string; othersWork: boolean } | null = null;
  /** The state of keys at the upstream. */
  readonly authorization: KeyAuthorization;

  constructor(options: WireOptions, keys: Keys, forget: ForgetKey) {
    const { events, rateLimit } = options;
    this.#options = options;
    this.#breaker = new Breaker(options.clock);
    const { upstream } = options.api;
    this.#announced = events ? new AnnouncedLimit({ upstream, rateLimit, events }) : null;
    this.authorization = new KeyAuthorization(keys, forget, {
      clock: options.clock,
      onRefused: () => events?.emit('complaint', { sentence: rejectedKey(upstream) }),
    });
  }

  get #upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** The error of a request that is not sent because the breaker is open, or it cannot be saved: `UPSTREAM_UNAVAILABLE`. */
  get heldBack(): GatewayError | undefined {
    const heldMs = this.#breaker.openMs;
    const fault = this.#options.slots?.fault;
    if (fault) return notSaved(this.#upstream, fault);
    return heldMs === 0 ? undefined : outOfOrder(this.#upstream, heldMs);
  }

  /** Milliseconds until a request may probe the upstream; 0 while the breaker allows requests. */
  get heldMs(): number {
    return this.#breaker.openMs;
  }

  /**
   * Sends a request: 1 upstream request; none while the breaker is open for it, or if it may no longer be sent. Records
   * from the response whether the upstream works and whether the key is accepted.
   */
  async send<T>(
    call: SentCall<T>,
    credential: Credential,
    departing: Departing,
    leave: Leave,
  ): Promise<SentOutcome<T>> {
    const { rateLimit } = this.#options;
    const kind = kindOf(call);
    const openMs = this.#breaker.openMsFor(kind);
    if (openMs > 0) {
      const error = outOfOrder(this.#upstream, openMs);
      return { feedback: NO_FEEDBACK, outcome: { kind: 'heldBack', error } };
    }
    // The duration of a stream depends on its sender.
    const departure = this.#breaker.leaving(kind, call.stream === undefined);
    const sent = this.#observed({ call, kind }, credential, departing, leave);
    // A bug of the gateway reveals nothing about the upstream, and must not leave the breaker half-open.
    sent.catch(() => departure.ended());
    const judged = sent.then((answered) => {
      const exchanged = this.#heldBack(call, kind, answered);
      const { feedback, outcome } = exchanged;
      const limit = feedback.limit ?? rateLimit;
      // The limit of one caller's own key reveals nothing about the setting, which is for all keys.
      if (limit < rateLimit && !credential.ofCaller) this.#announced?.note(limit);
      const fault = outcome.kind === 'failure' ? faultOf(outcome.failure, call) : null;
      const reveals = outcome.kind !== 'late' && fault !== 'caller' && exchanged === answered;
      if (!reveals) departure.ended();
      else if (fault === null) departure.answered();
      else departure.failed(fault);
      return exchanged;
    });
    return this.authorization.learn(call, credential, judged);
  }

  /**
   * A 503 that says when to come back holds back all requests of the key until then, as a refusal does: a read is sent
   * again. A write may have happened. One kind alone, beside others that work, holds back nothing.
   */
  #heldBack<T>(call: SentCall<T>, kind: string, exchanged: Exchanged<T>): Exchanged<T> {
    const { feedback, outcome } = exchanged;
    const isAgain = this.#busy?.kind === kind;
    if (outcome.kind === 'value') {
      if (isAgain) this.#busy = null;
      else if (this.#busy) this.#busy.othersWork = true;
    }
    const retryAfterMs = outcome.kind === 'failure' ? retryAfterMsOf(outcome.failure) : undefined;
    if (retryAfterMs === undefined || (isAgain && this.#busy?.othersWork)) return exchanged;
    this.#busy = { kind, othersWork: false };
    const isRead = call.resource !== undefined;
    return {
      feedback: { ...feedback, refused: { retryAfterMs } },
      outcome: isRead ? { kind: 'refused' } : outcome,
    };
  }

  /** `exchange`, with events at its start and end. */
  #observed<T>(
    { call, kind }: { readonly call: SentCall<T>; readonly kind: string },
    credential: Credential,
    { asker, caller, callerClass, lane, operation, renews, sharedWith }: Departing,
    { mayLeave, saved }: Leave,
  ): Promise<Exchanged<T>> {
    const { clock, events } = this.#options;
    const exchanges = async (leaves: () => boolean): Promise<Exchanged<T>> =>
      andThen(saved(), (may): AtOnce<Exchanged<T>> => {
        return may ? exchange(this.#options, call, credential.secret, leaves) : UNSENT;
      });
    if (!events) return exchanges(mayLeave);
    const request = {
      upstream: this.#upstream,
      method: call.method,
      resource: resourceOf(call),
      operation,
      asker,
      caller,
      callerClass,
      lane,
      renews,
      sentAt: clock.now(),
    };
    events.emit('requestSent', request);
    let isUnsent = true;
    const end = (ended: Omit<UpstreamOutcome, 'durationMs'>): void => {
      const at = clock.now();
      events.emit('requestEnded', {
        at,
        request,
        outcome: { ...ended, isUnsent, durationMs: at - request.sentAt },
      });
    };
    const leaves = (): boolean => {
      isUnsent = !mayLeave();
      return !isUnsent;
    };
    const work = async (): Promise<Exchanged<T>> => {
      try {
        const exchanged = await exchanges(leaves);
        end(this.#outcomeOf(call, exchanged, { credential, kind, sharedWith }));
        return exchanged;
      } catch (error) {
        end({ code: 'INTERNAL_SERVER_ERROR', cause: error });
        throw error;
      }
    };
    return events.within ? events.within(request, work) : work();
  }

  #outcomeOf<T>(
    call: Call<T>,
    { outcome }: Exchanged<T>,
    {
      credential,
      kind,
      sharedWith,
    }: { credential: Credential; kind: string } & Pick<Departing, 'sharedWith'>,
  ): Omit<UpstreamOutcome, 'durationMs'> {
    if (outcome.kind === 'value') return { code: 'OK', kind };
    if (outcome.kind === 'refused') return { code: 'REFUSED', kind };
    if (outcome.kind === 'late') return { code: 'LATE' };
    const { failure } = outcome;
    if (failure instanceof WireError && failure.byCaller) return { code: 'CANCELED' };
    const { code, cause } = readError(this.#upstream, failure);
    const isOfCaller = credential.ofCaller && code === 'UPSTREAM_UNAUTHENTICATED';
    const fault = isOfCaller ? 'caller' : (faultOf(failure, call) ?? undefined);
    const reason = reasonInWords(failure, this.#options.timeoutMs);
    // An upstream's own message can contain anything that was sent to it.
    return {
      code,
      fault,
      kind,
      sharedWith: sharedWith(),
      ...(reason === undefined ? {} : { reason }),
      ...(cause === undefined ? {} : { cause }),
    };
  }
}
