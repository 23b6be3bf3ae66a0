import type { Clock } from '../../clock.ts';
import type { Failure } from './failure.ts';
import { WireError } from './send.ts';

/** So many failures in a row, without an answer that can be used between them, open the breaker. */
const FAILURES_TO_OPEN = 5;
/** How long the first opening lasts; each one in a row lasts twice as long, up to the longest. */
const FIRST_OPENING_MS = 1000;
const LONGEST_OPENING_MS = 30_000;

/**
 * A circuit breaker: open while an upstream is out of order, whatever the credential, since requests would
 * only cost budget and time; then half-open, while a single request finds out whether it is back; closed
 * as long as all is well.
 */
export class Breaker {
  readonly #clock: Clock;
  /** What the failures in a row were about. */
  readonly #failedPaths = new Set<string>();
  #failures = 0;
  #openings = 0;
  #openUntil = Number.NEGATIVE_INFINITY;
  #probing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds for which no request should leave, until it is half-open; 0 when one may. */
  get openMs(): number {
    if (this.#openings === 0) return 0;
    if (this.#probing) return FIRST_OPENING_MS;
    return Math.max(0, this.#openUntil - this.#clock.now());
  }

  /** A request is about to leave: the first after an opening is the one that finds out. */
  leaving(): void {
    if (this.#openings > 0) this.#probing = true;
  }

  /** An answer came that says what the upstream meant to say, be it a refusal. */
  succeeded(): void {
    this.#failedPaths.clear();
    this.#failures = 0;
    this.#openings = 0;
    this.#probing = false;
  }

  /** No usable answer came to a request for `path`. */
  failed(path: string, failure: Failure): void {
    // What had left before it opened fails for the same outage, and tells nothing new.
    if (this.#openings > 0 && !this.#probing) return;
    this.#failures += 1;
    // One endpoint that always fails is that endpoint's affair, not the upstream's.
    this.#failedPaths.add(failure instanceof WireError ? '' : path);
    const everywhere = this.#failedPaths.size > 1 || this.#failedPaths.has('');
    const tripped = this.#failures >= FAILURES_TO_OPEN && everywhere;
    if (!tripped && !this.#probing) return;
    const openingMs = Math.min(LONGEST_OPENING_MS, FIRST_OPENING_MS * 2 ** this.#openings);
    this.#openUntil = this.#clock.now() + openingMs;
    this.#openings += 1;
    this.#probing = false;
  }
}
