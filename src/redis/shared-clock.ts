/** A moment on the shared clock, and one on `clock.now()`. */
interface Pair {
  readonly shared: number;
  readonly local: number;
}

/** What the shared clock shows when a command is carried out, unless it was set or stood still. */
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

/** Monotonic clocks and that of Redis may differ by so much for each millisecond before that is a fault of one. */
const DRIFT = 0.001;

/**
 * What a replica knows of the clock that all share, within one epoch. Each reply has a time of Redis between the
 * moments at which its command was sent and the reply came. With the monotonic time since, that bounds the shared clock
 * from both sides:
 *
 * - Above the upper bound Redis' clock was set forward, or the command was long on its way: the script goes back to the
 *   bound, so that no slot is free too early.
 * - Below the lower bound time was lost, since a command that Redis carries out late, after a pause of its own, sets the
 *   clock back: the script goes forward to the bound. Without that, all that was lost makes answers look younger than they
 *   are, and slots come back late.
 *
 * A replica that is new in an epoch has no lower bound of its own. Redis reports what time may be lost, and moments from
 * before that count as that much longer ago.
 *
 * Monotonic time stands still while a machine is suspended; then the lower bound is merely lower.
 */
export class SharedClock {
  /** When the command of the latest reply was sent, on `clock.now()`; before all times where there was none. */
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

  /** Another memory of Redis has a clock of its own, which may have `lost` some time before it was first heard of. */
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
