import Bottleneck from 'bottleneck';
import type { Clock } from '../../clock.ts';

interface LeasesOptions {
  readonly clock: Clock;
  /** Requests per window. */
  readonly limit: number;
  readonly windowMs: number;
  /** Called whenever a slot has become free, or a request on the wire is answered. */
  readonly onChange: () => void;
}

/**
 * Counts the requests of one key so that no sliding window holds more than `limit` of them.
 *
 * A request is a lease: a Bottleneck job that ends one window after its answer ended. With at most
 * `limit` jobs at a time, the law holds for every window, whatever its edges, since each request that
 * an upstream could still be counting still holds its job.
 */
export class Leases {
  readonly windowMs: number;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #limiter: Bottleneck;
  #limit: number;
  #taken = 0;
  #countable = 0;
  #onWire = 0;
  #lengthyOnWire = 0;
  /** When each answered lease ends, on `clock.now()`, ascending. */
  readonly #ends: number[] = [];
  /** Requests that others made with the same key, as the upstream's headers tell, until when. */
  #others: { readonly count: number; readonly until: number }[] = [];
  /** How long an answer takes, smoothed: for estimates only. */
  #latencyMs = 200;

  constructor(options: LeasesOptions) {
    this.windowMs = options.windowMs;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    this.#limit = options.limit;
    this.#limiter = new Bottleneck({ maxConcurrent: options.limit });
    ignoreWallClock(this.#limiter);
  }

  /** Requests per window that the upstream grants this key. */
  get limit(): number {
    return this.#limit;
  }

  /** Follows a limit that the upstream announces. Leases already held keep counting. */
  set limit(limit: number) {
    if (limit === this.#limit) return;
    this.#limit = limit;
    // A job handed over before Bottleneck has taken the new limit in waits there until it has.
    void Promise.resolve(this.#limiter.updateSettings({ maxConcurrent: limit })).then(
      this.#onChange,
    );
  }

  /** Requests that still count: ours, on the wire or answered less than a window ago, and others'. */
  get used(): number {
    return this.#taken + this.others;
  }

  /** Requests that could leave at this moment. */
  get free(): number {
    return Math.max(0, this.#limit - this.used);
  }

  /** Requests sent, or about to be, and not answered yet, without those that take long by nature. */
  get onWire(): number {
    return this.#onWire - this.#lengthyOnWire;
  }

  /** How long an answer usually takes, in milliseconds. */
  get latencyMs(): number {
    return this.#latencyMs;
  }

  /** Our own requests that have left and that the upstream may still be counting. */
  get countable(): number {
    return this.#countable;
  }

  /** Requests by others that count against the same key. */
  get others(): number {
    const now = this.#clock.now();
    let count = 0;
    for (const each of this.#others) if (each.until > now) count += each.count;
    return count;
  }

  /** Believes that others have made `count` more requests, which count for another `ms` milliseconds. */
  addOthers(count: number, ms: number): void {
    const until = this.#clock.now() + ms;
    const added = { count, until };
    this.#others.push(added);
    this.#at(until, () => {
      this.#others = this.#others.filter((each) => each !== added);
      this.#onChange();
    });
  }

  /**
   * Takes a slot, which must be free, and runs `use` in it. `use` must not reject. `null` from it
   * means that nothing was sent, and gives the slot back; anything else is passed to `answered`.
   * A `lengthy` one, such as an upload, says nothing about how long an answer usually takes.
   */
  take<A>(use: () => Promise<A | null>, answered: (answer: A) => void, lengthy = false): void {
    this.#taken += 1;
    this.#onWire += 1;
    if (lengthy) this.#lengthyOnWire += 1;
    const taken = this.#clock.now();
    void this.#limiter
      .schedule(async () => {
        this.#countable += 1;
        const answer = await use();
        this.#onWire -= 1;
        if (lengthy) this.#lengthyOnWire -= 1;
        if (answer !== null) {
          const now = this.#clock.now();
          const end = now + this.windowMs;
          if (!lengthy) this.#latencyMs += (now - taken - this.#latencyMs) / 8;
          this.#ends.push(end);
          answered(answer);
          this.#onChange();
          await new Promise<void>((resolve) => {
            this.#at(end, resolve);
          });
          this.#ends.shift();
        }
        this.#countable -= 1;
      })
      .finally(() => {
        this.#taken -= 1;
        this.#onChange();
      });
  }

  /**
   * When the slot after `ahead` others will be free, on `clock.now()`, if none is used before
   * `notBefore`: exact for answered leases, a guess from the usual latency for those on the wire.
   */
  availableAt(ahead: number, notBefore: number): number {
    const now = this.#clock.now();
    const slots = [...this.#ends];
    for (let n = 0; n < this.#onWire; n += 1) slots.push(now + this.#latencyMs + this.windowMs);
    for (const { count, until } of this.#others) {
      for (let n = 0; n < count; n += 1) slots.push(until);
    }
    slots.sort((a, b) => a - b);
    // More leases than the limit, after it has shrunk: the first to end free nothing.
    slots.splice(0, slots.length - this.#limit);
    const free = this.#limit - slots.length;
    // Each slot comes back a window after it is used again.
    const rounds = Math.floor(ahead / this.#limit);
    const first = Math.max(now, notBefore, slots[(ahead % this.#limit) - free] ?? now);
    return first + rounds * (this.windowMs + this.#latencyMs);
  }

  /** When everything that counts now will have run out, on `clock.now()`; `null` when nothing counts. */
  get clearAt(): number | null {
    if (this.used === 0) return null;
    const now = this.#clock.now();
    const ends = this.#others.map(({ until }) => until);
    if (this.#onWire > 0) ends.push(now + this.#latencyMs + this.windowMs);
    return Math.max(now, this.#ends.at(-1) ?? now, ...ends);
  }

  /** Runs a task at a moment and never before it: timers can be early by a fraction of a millisecond. */
  #at(moment: number, task: () => void): void {
    const rest = moment - this.#clock.now();
    if (rest <= 0) task();
    else this.#clock.after(Math.ceil(rest), () => this.#at(moment, task));
  }
}

/**
 * Takes the wall clock from Bottleneck, which starts no job before the wall-clock time at which it
 * started the last: a clock set back by an hour would stop all requests for an hour. Nothing is lost
 * without it, since no minimum time between jobs is asked for.
 */
function ignoreWallClock(limiter: Bottleneck): void {
  const { _store } = limiter as unknown as { readonly _store: object };
  Object.defineProperty(_store, '_nextRequest', { get: () => 0, set: () => {} });
}
