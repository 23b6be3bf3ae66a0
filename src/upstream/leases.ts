import Bottleneck from 'bottleneck';
import type { Clock } from '../clock.ts';

/** What a lease was used for: `spent` when a request left the gateway, else the slot is free at once. */
export type LeaseUse = 'spent' | 'unused';

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
  #onWire = 0;
  /** When each answered lease ends, on `clock.now()`, ascending. */
  #ends: number[] = [];
  /** Requests that others made with the same key, as the upstream's headers tell, until when. */
  #others = { count: 0, until: 0, cancel: (): void => {} };
  /** How long an answer takes, smoothed: for estimates only. */
  #latencyMs = 200;

  constructor(options: LeasesOptions) {
    this.windowMs = options.windowMs;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    this.#limit = options.limit;
    this.#limiter = new Bottleneck({ maxConcurrent: options.limit });
  }

  /** Requests per window that the upstream grants this key. */
  get limit(): number {
    return this.#limit;
  }

  /** Follows a limit that the upstream announces. Leases already held keep counting. */
  set limit(limit: number) {
    if (limit === this.#limit) return;
    this.#limit = limit;
    const updated: unknown = this.#limiter.updateSettings({ maxConcurrent: Math.max(1, limit) });
    void Promise.resolve(updated).then(this.#onChange);
  }

  /** Requests that still count: ours, on the wire or answered less than a window ago, and others'. */
  get used(): number {
    return this.#taken + this.others;
  }

  /** Requests that could leave at this moment. */
  get free(): number {
    return Math.max(0, this.#limit - this.used);
  }

  /** Requests sent and not answered yet. */
  get onWire(): number {
    return this.#onWire;
  }

  /** How long an answer usually takes, in milliseconds. */
  get latencyMs(): number {
    return this.#latencyMs;
  }

  /** Our own leases, without what others spend. */
  get taken(): number {
    return this.#taken;
  }

  /** Requests by others that count against the same key. */
  get others(): number {
    return this.#others.until > this.#clock.now() ? this.#others.count : 0;
  }

  /** Believes that others have made `count` requests that count for another `ms` milliseconds. */
  setOthers(count: number, ms: number): void {
    this.#others.cancel();
    this.#others = {
      count,
      until: this.#clock.now() + ms,
      cancel: count === 0 ? () => {} : this.#clock.after(ms, this.#onChange),
    };
    this.#onChange();
  }

  /** Takes a slot, which must be free, and runs `use` in it. `use` must not reject. */
  take(use: () => Promise<LeaseUse>): void {
    this.#taken += 1;
    this.#onWire += 1;
    const started = this.#clock.now();
    void this.#limiter
      .schedule(async () => {
        const outcome = await use();
        this.#onWire -= 1;
        if (outcome === 'unused') return;
        const now = this.#clock.now();
        this.#latencyMs += (now - started - this.#latencyMs) / 8;
        this.#ends.push(now + this.windowMs);
        this.#onChange();
        await new Promise<void>((resolve) => {
          this.#clock.after(this.windowMs, resolve);
        });
        this.#ends.shift();
      })
      .finally(() => {
        this.#taken -= 1;
        this.#onChange();
      });
  }

  /**
   * When the slot after `ahead` others will be free, on `clock.now()`: exact for answered leases, a
   * guess from the usual latency for those on the wire.
   */
  availableAt(ahead: number): number {
    const now = this.#clock.now();
    if (ahead < this.free) return now;
    const releases = [...this.#ends];
    for (let i = 0; i < this.#onWire; i += 1) releases.push(now + this.#latencyMs + this.windowMs);
    for (let i = 0; i < this.others; i += 1) releases.push(this.#others.until);
    releases.sort((a, b) => a - b);
    const surplus = Math.max(0, this.used - this.#limit);
    const nth = ahead - this.free + surplus;
    if (releases.length === 0) return now + this.windowMs;
    // Each slot comes back a window after it is used again.
    const rounds = Math.floor(nth / releases.length);
    return (releases[nth % releases.length] ?? now) + rounds * (this.windowMs + this.#latencyMs);
  }

  /** When everything that counts now will have run out, on `clock.now()`; `null` when nothing counts. */
  get clearAt(): number | null {
    if (this.used === 0) return null;
    if (this.#onWire > 0) return this.#clock.now() + this.#latencyMs + this.windowMs;
    return Math.max(this.#ends.at(-1) ?? 0, this.others > 0 ? this.#others.until : 0);
  }
}
