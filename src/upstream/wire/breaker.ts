import type { Fault } from '../../observe/events.ts';
import type { Clock } from '../../scheduling/clock.ts';

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
