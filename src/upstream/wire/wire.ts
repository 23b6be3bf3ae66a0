import type { Credential } from '../../auth/credential.ts';
import type { GatewayError, UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Asker, Fault, RequestOrigin, UpstreamOutcome } from '../../observe/events.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Call } from '../request.ts';
import { AnnouncedLimit } from './announced-limit.ts';
import { type Exchanged, type ExchangeOptions, exchange } from './exchange.ts';
import { faultOf, outOfOrder, readError, reasonInWords } from './failure.ts';
import { type ForgetKey, KeyAuthorization, type Keys, rejectedKey } from './key-authorization.ts';
import { NO_FEEDBACK } from './rate-limit-headers.ts';
import { WireError } from './send.ts';

/** Why a request is sent, and the object that represents its operation, if there is one. */
export interface Departing extends RequestOrigin {
  readonly operation: object | undefined;
  /** The other operations that now wait for its response. */
  readonly sharedWith: () => readonly Asker[];
}

/** A request with the further members of a read. */
type SentCall<T> = Call<T> & { readonly absentIsNull?: boolean; readonly resource?: string };

/** A request that was not sent, because the circuit breaker is open. */
interface HeldBack {
  readonly kind: 'heldBack';
  readonly error: GatewayError;
}

/** The outcome of a request. */
interface Sent<T> extends Omit<Exchanged<T>, 'outcome'> {
  readonly outcome: Exchanged<T>['outcome'] | HeldBack;
}

interface WireOptions extends ExchangeOptions {
  /** The configured number of requests per window and key. */
  readonly rateLimit: number;
  readonly events?: EventStream;
}

/** Sends the requests to one upstream: through its circuit breaker, with events, and with the state of each key. */
export class Wire {
  readonly #options: WireOptions;
  readonly #breaker: Breaker;
  readonly #announced: AnnouncedLimit | null;
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

  /** The error of a request that is not sent because the breaker is open: `UPSTREAM_UNAVAILABLE`. */
  get heldBack(): GatewayError | undefined {
    const { heldMs } = this;
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
    mayLeave: () => boolean,
  ): Promise<Sent<T>> {
    const { rateLimit } = this.#options;
    const kind = kindOf(call);
    const openMs = this.#breaker.openMsFor(kind);
    if (openMs > 0) {
      const error = outOfOrder(this.#upstream, openMs);
      return { feedback: NO_FEEDBACK, outcome: { kind: 'heldBack', error } };
    }
    // The duration of a stream depends on its sender.
    const departure = this.#breaker.leaving(kind, call.stream === undefined);
    const sent = this.#observed(call, credential, departing, mayLeave);
    // A bug of the gateway reveals nothing about the upstream, and must not leave the breaker half-open.
    sent.catch(() => departure.ended());
    const judged = sent.then((exchanged) => {
      const { feedback, outcome } = exchanged;
      const limit = feedback.limit ?? rateLimit;
      // The limit of one caller's own key reveals nothing about the setting, which is for all keys.
      if (limit < rateLimit && !credential.ofCaller) this.#announced?.note(limit);
      const fault = outcome.kind === 'failure' ? faultOf(outcome.failure, call) : null;
      if (outcome.kind === 'late' || fault === 'caller') departure.ended();
      else if (fault === null) departure.answered();
      else departure.failed(fault);
      return exchanged;
    });
    return this.authorization.learn(call, credential, judged);
  }

  /** `exchange`, with events at its start and end. */
  #observed<T>(
    call: SentCall<T>,
    credential: Credential,
    { asker, caller, callerClass, lane, operation, renews, sharedWith }: Departing,
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
      callerClass,
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
    const leaves = (): boolean => {
      const may = mayLeave();
      if (may) events.emit('requestLeaves', request);
      return may;
    };
    const work = async (): Promise<Exchanged<T>> => {
      try {
        const exchanged = await exchange(this.#options, call, credential.secret, leaves);
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

/** The subject of a request, e.g. `channels`: one of few words, never an id. */
export function resourceOf({
  path,
  resource,
}: Pick<Call<unknown>, 'path'> & { readonly resource?: string }): string {
  return resource ?? nounOf(path);
}

/**
 * The word after `/api` in a path, which is the name of a request without a resource. The rest of the path can contain
 * values of callers.
 */
function nounOf(path: string): string {
  return path.split('/', 3)[2] ?? '';
}

/** The kind of resource of a request: the same for a list, its rows and their writes. */
function kindOf({ path }: Pick<Call<unknown>, 'path'>): string {
  // `/api/campaigns`, but `/api/campaign/:id`.
  return nounOf(path).replace(/s$/, '');
}

/** This many failures in a row, without a usable response between them, open the breaker. */
const FAILURES_TO_OPEN = 5;
/** Failures must concern this many kinds of resources: one kind alone does not open it. */
const KINDS_TO_OPEN = 2;
/** Duration of the first opening; each further one in a row lasts twice as long, up to the maximum. */
const FIRST_OPENING_MS = 1000;
const LONGEST_OPENING_MS = 30_000;
/** Timeout of a probe, independent of that of other requests. */
const PROBE_MS = 10_000;

/** One request in flight, for the breaker. Exactly one of the three is called when it ends. */
export interface Departure {
  /** A usable response arrived, even if it is a refusal. */
  answered(): void;
  /** No usable response arrived, because of the host or of this kind of resource. */
  failed(fault: Extract<Fault, 'host' | 'resource'>): void;
  /** Its end reveals nothing about the upstream. */
  ended(): void;
}

/**
 * A circuit breaker: open while an upstream fails, for all credentials, because requests would only cost budget
 * and time; then half-open, while a single request checks whether it is back; closed otherwise.
 *
 * Failures are counted by kind of resource, never by path or id, so that no caller can open it by repeatedly
 * requesting a row that the upstream cannot return. The probe has its own deadline, and after a failed probe
 * another kind goes first.
 */
export class Breaker {
  readonly #clock: Clock;
  /** The kinds of resource of the failures in a row. */
  readonly #failedKinds = new Set<string>();
  #hostFailed = false;
  #failures = 0;
  #openings = 0;
  #openUntil = Number.NEGATIVE_INFINITY;
  #probe: Departure | null = null;
  /** The kind of the latest probe, if that kind and not the host was the cause of its failure. */
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
   * A request for a kind of resource is about to be sent. The first after an opening is the probe, unless its duration
   * depends on its sender, like that of an upload.
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
        // A request sent before the opening fails in the same outage, and reveals nothing new.
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
