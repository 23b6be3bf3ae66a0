import type { Clock } from '../../clock.ts';

/** After so many windows without a sign of a co-tenant, requests go side by side again. */
const CO_TENANT_REMEMBERED_WINDOWS = 10;
/** So long after an answer, what it said of the budget is taken to hold still. */
const HEARD_MS = 250;
/** How long the others wait for a probe's answer. */
const PROBE_MS = 1000;

/**
 * How carefully requests are sent while it is not known what is left of the window: after a start or a
 * refusal, after a silence and while a co-tenant spends the same key, a probe goes first and the others
 * wait for the rate-limit headers of its answer, so that at most one request is refused.
 */
export class Caution {
  readonly #clock: Clock;
  readonly #windowMs: number;
  /** What is left of the window is not known at all: one request goes, and no other before its answer. */
  #blind = true;
  #remainingHeard = false;
  #heardAt = Number.NEGATIVE_INFINITY;
  #probeUntil = Number.NEGATIVE_INFINITY;
  #coTenantSeenAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  /**
   * Milliseconds for which the next request waits for the answers of those on the wire; infinite when
   * only an answer ends the wait, 0 when it may go.
   */
  waitMs(onWire: number): number {
    if (onWire === 0) return 0;
    if (this.oneAtATime) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#probeUntil - this.#clock.now());
  }

  /** How long `ahead` requests take to go before another one, beyond finding slots; a guess. */
  estimateMs(ahead: number, onWire: number, latencyMs: number): number {
    if (this.#coTenantAbout) return (ahead + onWire) * latencyMs;
    return (this.#blind || this.#probes(onWire)) && ahead + onWire > 0 ? latencyMs : 0;
  }

  /** Whether each request waits for the answer to the one before. */
  get oneAtATime(): boolean {
    return this.#blind || this.#coTenantAbout;
  }

  /** Whether an answer has told how much is left of the window. */
  get remainingHeard(): boolean {
    return this.#remainingHeard;
  }

  /** A request goes while so many others are on the wire. */
  sends(onWire: number): void {
    if (this.#probes(onWire)) this.#probeUntil = this.#clock.now() + PROBE_MS;
  }

  /** An answer came. */
  heard(remaining: boolean): void {
    this.#heardAt = this.#clock.now();
    this.#probeUntil = this.#heardAt;
    this.#remainingHeard ||= remaining;
  }

  /** A request that left after the latest pause was taken. */
  accepted(): void {
    this.#blind = false;
  }

  /** A request was refused, which only a co-tenant or a lower limit explains. */
  refused(): void {
    this.#blind = true;
    this.coTenantSeen();
  }

  /** The headers show requests that were none of ours. */
  coTenantSeen(): void {
    this.#coTenantSeenAt = this.#clock.now();
  }

  get #coTenantAbout(): boolean {
    const remembered = CO_TENANT_REMEMBERED_WINDOWS * this.#windowMs;
    return this.#clock.now() - this.#coTenantSeenAt < remembered;
  }

  /** Whether the next request is a probe, or one is on the wire. */
  #probes(onWire: number): boolean {
    const now = this.#clock.now();
    if (onWire > 0) return this.#probeUntil > now;
    return this.#remainingHeard && now - this.#heardAt >= HEARD_MS;
  }
}
