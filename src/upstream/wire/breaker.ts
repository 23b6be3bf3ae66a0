import type { Fault } from '../../observe/events.ts';
import type { Clock } from '../../scheduling/clock.ts';

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
