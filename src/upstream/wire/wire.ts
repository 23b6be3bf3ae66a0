import type { Credential } from '../../auth/credential.ts';
import type { GatewayError, UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Asker, Fault, RequestOrigin, UpstreamOutcome } from '../../observe/events.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Call } from '../request.ts';
import { AnnouncedLimit } from './announced-limit.ts';
import { type Exchanged, type ExchangeOptions, exchange } from './exchange.ts';
import { faultOf, outOfOrder, readError, reasonInWords } from './failure.ts';
import { type ForgetKey, KeyAuthorization, type Keys } from './key-authorization.ts';
import { NO_FEEDBACK } from './rate-limit-headers.ts';
import { WireError } from './send.ts';

/** Why a request leaves, and the object that stands for the operation that it leaves for, if it does for one. */
export interface Departing extends RequestOrigin {
  readonly operation: object | undefined;
  /** The other operations that wait for its answer now. */
  readonly sharedWith: () => readonly Asker[];
}

/** A call, with what else a read says of itself. */
type SentCall<T> = Call<T> & { readonly absentIsNull?: boolean; readonly resource?: string };

/** A request that stayed here, since the circuit breaker is open. */
interface HeldBack {
  readonly kind: 'heldBack';
  readonly error: GatewayError;
}

/** What came of a request that was to be sent. */
interface Sent<T> extends Omit<Exchanged<T>, 'outcome'> {
  readonly outcome: Exchanged<T>['outcome'] | HeldBack;
}

interface WireOptions extends ExchangeOptions {
  /** Requests per window and key by the settings. */
  readonly rateLimit: number;
  readonly events?: EventStream;
}

/** One upstream as requests are sent to it: behind its circuit breaker, observed, each key as the upstream sees it. */
export class Wire {
  readonly #options: WireOptions;
  readonly #breaker: Breaker;
  readonly #announced: AnnouncedLimit | null;
  /** What the upstream says of keys. */
  readonly authorization: KeyAuthorization;

  constructor(options: WireOptions, keys: Keys, forget: ForgetKey) {
    const { events, rateLimit } = options;
    this.#options = options;
    this.#breaker = new Breaker(options.clock);
    const { upstream } = options.api;
    this.#announced = events ? new AnnouncedLimit({ upstream, rateLimit, events }) : null;
    this.authorization = new KeyAuthorization(keys, forget);
  }

  get #upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** Why a request stays here while the breaker is open: `UPSTREAM_UNAVAILABLE`. */
  get heldBack(): GatewayError | undefined {
    const { heldMs } = this;
    return heldMs === 0 ? undefined : outOfOrder(this.#upstream, heldMs);
  }

  /** Milliseconds until a request may find out whether the upstream works again; 0 while the breaker lets requests leave. */
  get heldMs(): number {
    return this.#breaker.openMs;
  }

  /**
   * Sends a request: 1 upstream call, none while the breaker is open for it, or where it might not leave any more.
   * Learns from the answer whether the upstream is in order, and what it says of the key.
   */
  async send<T>(
    call: SentCall<T>,
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
    const sent = this.#observed(call, credential, departing, mayLeave);
    // A mistake of ours says nothing about the upstream, and must not leave the breaker half-open.
    sent.catch(() => departure.ended());
    const judged = sent.then((exchanged) => {
      const { feedback, outcome } = exchanged;
      // What one caller's own key is granted says nothing about the setting, which is for all of them.
      if (!credential.ofCaller) this.#announced?.note(feedback.limit);
      const fault = outcome.kind === 'failure' ? faultOf(outcome.failure, call) : null;
      if (outcome.kind === 'late' || fault === 'caller') departure.ended();
      else if (fault === null) departure.answered();
      else departure.failed(fault);
      return exchanged;
    });
    return this.authorization.learn(call, credential, judged);
  }

  /** `exchange` with its beginning and its end as events. */
  #observed<T>(
    call: SentCall<T>,
    credential: Credential,
    { asker, caller, lane, operation, renews, sharedWith }: Departing,
    mayLeave: () => boolean,
  ): Promise<Exchanged<T>> {
    const { clock, events } = this.#options;
    if (!events) return exchange(this.#options, call, credential.secret, mayLeave);
    const request = {
      upstream: this.#upstream,
      method: call.method,
      resource: resourceOf(call),
      operation,
      asker,
      caller,
      lane,
      renews,
      sentAt: clock.now(),
    };
    events.emit('requestSent', request);
    const end = (ended: Omit<UpstreamOutcome, 'durationMs'>): void => {
      const at = clock.now();
      events.emit('requestEnded', {
        at,
        request,
        outcome: { ...ended, durationMs: at - request.sentAt },
      });
    };
    const work = async (): Promise<Exchanged<T>> => {
      try {
        const exchanged = await exchange(this.#options, call, credential.secret, mayLeave);
        end(this.#outcomeOf(call, exchanged, { credential, sharedWith }));
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
    { credential, sharedWith }: { credential: Credential } & Pick<Departing, 'sharedWith'>,
  ): Omit<UpstreamOutcome, 'durationMs'> {
    const kind = kindOf(call);
    if (outcome.kind === 'value') return { code: 'OK', kind };
    if (outcome.kind === 'refused') return { code: 'REFUSED', kind };
    if (outcome.kind === 'late') return { code: 'LATE' };
    const { failure } = outcome;
    if (failure instanceof WireError && failure.byCaller) return { code: 'CANCELED' };
    const { code, cause } = readError(this.#upstream, failure);
    const isOfCaller = credential.ofCaller && code === 'UPSTREAM_UNAUTHENTICATED';
    const fault = isOfCaller ? 'caller' : (faultOf(failure, call) ?? undefined);
    const reason = reasonInWords(failure, this.#options.timeoutMs);
    // An upstream's own sentence can hold anything that was sent to it.
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

/** What a request is about, e.g. `channels`: one of few words, never an id. */
export function resourceOf({
  path,
  resource,
}: Pick<Call<unknown>, 'path'> & { readonly resource?: string }): string {
  return resource ?? nounOf(path);
}

/** The word behind `/api` in a path of ours; what follows it can be a caller's. The name of a call without a resource. */
function nounOf(path: string): string {
  return path.split('/', 3)[2] ?? '';
}

/** The kind of resource that a request is about: the same for a list, a row of it and their writes. */
function kindOf({ path }: Pick<Call<unknown>, 'path'>): string {
  // `/api/campaigns`, but `/api/campaign/:id`.
  return nounOf(path).replace(/s$/, '');
}

/** This many failures in a row, without an answer that can be used between them, open the breaker. */
const FAILURES_TO_OPEN = 5;
/** What one kind of resource alone does wrong is its own affair: this many must be out of order. */
const KINDS_TO_OPEN = 2;
/** How long the first opening lasts; each one in a row lasts twice as long, up to the longest. */
const FIRST_OPENING_MS = 1000;
const LONGEST_OPENING_MS = 30_000;
/** How long a probe may take, whatever the patience with other requests is. */
const PROBE_MS = 10_000;

/** One request on its way, as the breaker knows it. Exactly one of the three is called when it ends. */
export interface Departure {
  /** An answer came that says what the upstream meant to say, be it a refusal. */
  answered(): void;
  /** No usable answer came, and that is the fault of the host, or of this kind of resource. */
  failed(fault: Extract<Fault, 'host' | 'resource'>): void;
  /** How it ended says nothing about the upstream. */
  ended(): void;
}

/**
 * A circuit breaker: open while an upstream is out of order, whatever the credential, since requests would
 * only cost budget and time; then half-open, while a single request finds out whether it is back; closed
 * as long as all is well.
 *
 * Failures count by the kind of resource that was asked for, never by path or id, so that no caller can
 * open it by asking again and again for the one row that the upstream cannot show. The probe has a
 * deadline of its own, and a kind that has failed as the probe lets another kind go first.
 */
export class Breaker {
  readonly #clock: Clock;
  /** What the failures in a row were about. */
  readonly #failedKinds = new Set<string>();
  #hostFailed = false;
  #failures = 0;
  #openings = 0;
  #openUntil = Number.NEGATIVE_INFINITY;
  #probe: Departure | null = null;
  /** What the latest probe asked for, if it failed for that and not for the host. */
  #failedProbe: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds for which no request should leave, until it is half-open; 0 when one may. */
  get openMs(): number {
    if (this.#openings === 0) return 0;
    if (this.#probe) return FIRST_OPENING_MS;
    return Math.max(0, this.#openUntil - this.#clock.now());
  }

  /** The same for a request of one kind. */
  openMsFor(kind: string): number {
    const { openMs } = this;
    if (openMs > 0 || this.#failedProbe !== kind) return openMs;
    return Math.max(0, this.#openUntil + LONGEST_OPENING_MS - this.#clock.now());
  }

  /**
   * A request for a kind of resource is about to leave. The first after an opening is the one that finds
   * out, unless it may not be: one that takes as long as its sender pleases, as an upload does.
   */
  leaving(kind: string, mayProbe = true): Departure {
    const openings = this.#openings;
    const probes = mayProbe && openings > 0 && this.#probe === null;
    let cancel = (): void => {};
    const departure: Departure = {
      answered: () => {
        cancel();
        this.#close();
      },
      failed: (fault) => {
        cancel();
        // What had left before it opened fails for the same outage, and says nothing new.
        if (openings !== this.#openings) return;
        if (openings === 0) this.#count(kind, fault);
        else if (probes || (fault === 'host' && this.#probe === null)) this.#open(kind, fault);
      },
      ended: () => {
        cancel();
        if (this.#probe === departure) this.#probe = null;
      },
    };
    if (probes) {
      this.#probe = departure;
      cancel = this.#clock.after(PROBE_MS, () => departure.failed('resource'));
    }
    return departure;
  }

  #count(kind: string, fault: 'host' | 'resource'): void {
    this.#failures += 1;
    this.#failedKinds.add(kind);
    this.#hostFailed ||= fault === 'host';
    if (this.#failures < FAILURES_TO_OPEN) return;
    if (this.#hostFailed || this.#failedKinds.size >= KINDS_TO_OPEN) this.#open(null, fault);
  }

  #open(probed: string | null, fault: 'host' | 'resource'): void {
    const openingMs = Math.min(LONGEST_OPENING_MS, FIRST_OPENING_MS * 2 ** this.#openings);
    this.#openUntil = this.#clock.now() + openingMs;
    this.#openings += 1;
    this.#probe = null;
    this.#failedProbe = fault === 'resource' ? probed : null;
  }

  #close(): void {
    this.#failedKinds.clear();
    this.#hostFailed = false;
    this.#failures = 0;
    this.#openings = 0;
    this.#probe = null;
    this.#failedProbe = null;
  }
}
