/** A moment on the shared clock, and one on `clock.now()`. */
interface Pair {
  readonly shared: number;
  readonly local: number;
}

/** The possible values of the shared clock when a command is executed, unless it was set or stopped. */
export interface Bounds {
  readonly lower: number;
  /** For one that takes no time on its way. */
  readonly latest: number;
  /** For one that takes as long as is accepted. */
  readonly upper: number;
}

/** Time that the shared clock may have lost before a replica first heard of it. */
export interface LostTime {
  /** The latest moment on the shared clock that was given out before. */
  readonly until: number;
  /** In milliseconds. */
  readonly ms: number;
}

/** Maximum drift between a monotonic clock and that of Redis, per millisecond. */
const DRIFT = 0.001;

/**
 * The shared clock within one epoch, as bounded by a replica. Each reply has a time of Redis between the moments
 * at which its command was sent and the reply arrived. With the monotonic time since, that bounds the shared clock
 * from both sides:
 *
 * - Above the upper bound, Redis' clock was set forward, or the command was delayed: the script goes back to the
 * bound, so that no slot is free too early.
 * - Below the lower bound, time was lost, because a command that Redis executes late, after a pause, sets the
 * clock back: the script goes forward to the bound. Without that, lost time would make responses look younger than
 * they are, and free slots late.
 *
 * A replica that is new in an epoch has no lower bound of its own. Redis reports how much time may be lost, and
 * earlier moments count as that much older.
 *
 * Monotonic time stops while a machine is suspended; then the lower bound is merely lower.
 */
export class SharedClock {
  /** When the command of the latest reply was sent, on `clock.now()`; before all times if there was none. */
  heardAt = Number.NEGATIVE_INFINITY;
  readonly #slackMs: number;
  /** Of the latest reply, with when its command was sent. */
  #sent: Pair | null = null;
  /** Of the reply that the clock can least be behind, with when it came. */
  #came: Pair | null = null;
  #lost: LostTime | null = null;

  /** `slackMs`: how long a command may be on its way. */
  constructor(slackMs: number) {
    this.#slackMs = slackMs;
  }

  /** Another epoch of Redis has its own clock, which may have `lost` some time before its first reply. */
  begin(lost: LostTime | null): void {
    this.heardAt = Number.NEGATIVE_INFINITY;
    this.#sent = null;
    this.#came = null;
    this.#lost = lost;
  }

  /** A reply in the epoch that has begun. */
  heard(shared: number, sentAt: number, cameAt: number): void {
    this.heardAt = sentAt;
    this.#sent = { shared, local: sentAt };
    if (this.#came === null || shared >= this.#leastAt(this.#came, cameAt)) {
      this.#came = { shared, local: cameAt };
    }
  }

  /** Bounds for a command that is sent at a moment on `clock.now()`; `null` before the first reply of an epoch. */
  boundsAt(now: number): Bounds | null {
    if (this.#sent === null || this.#came === null) return null;
    const lower = this.#leastAt(this.#came, now);
    const last = this.#sent.shared + (now - this.#sent.local);
    const latest = Math.ceil(Math.max(last, lower));
    return { lower: Math.floor(lower), latest, upper: latest + this.#slackMs };
  }

  /** A moment on the shared clock as one on `clock.now()`; early rather than late, so that nothing seems newer than it is. */
  toLocal(shared: number): number {
    const of = (pair: Pair | null) =>
      pair === null ? Number.NEGATIVE_INFINITY : pair.local + (shared - pair.shared);
    const lost = this.#lost !== null && shared <= this.#lost.until ? this.#lost.ms : 0;
    return Math.min(of(this.#sent), of(this.#came)) - lost;
  }

  #leastAt({ local, shared }: Pair, now: number): number {
    return shared + (now - local) * (1 - DRIFT);
  }
}
