import { type SandboxClock, stamp } from '../clock.ts';

/** The number of requests per key and window, and the format of its headers. */
export interface RateLimitOptions {
  requests: number;
  windowMs: number;
  /** `fixed`: the window starts with the first request in it. `sliding`: any interval of `windowMs`. */
  mode: 'fixed' | 'sliding';
  /** The documentation does not define the format of `X-RateLimit-Reset`; `none` sends no rate limit headers. */
  resetFormat: 'epoch-seconds' | 'epoch-ms' | 'delta' | 'http-date' | 'timestamp' | 'none';
}

/** Counts requests per key. Implements: Link API > Limits. */
export class RateLimiter {
  readonly #options: RateLimitOptions;
  readonly #clock: SandboxClock;
  readonly #spent = new Map<string, number[]>();

  constructor(options: RateLimitOptions, clock: SandboxClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Whether the limit allows one more request of this key now. */
  allows(key: string): boolean {
    return this.#current(key).length < this.#options.requests;
  }

  /** Counts `requests` requests of this key, up to the limit. */
  spend(key: string, requests = 1): void {
    const spent = this.#current(key);
    const free = Math.max(0, this.#options.requests - spent.length);
    const now = this.#clock.wall();
    for (let count = 0; count < Math.min(requests, free); count++) spent.push(now);
    this.#spent.set(key, spent);
  }

  /** Seconds until the next request of this key is allowed, at least 1. */
  retryAfter(key: string): number {
    return Math.max(1, Math.ceil((this.#resetAt(key) - this.#clock.wall()) / 1000));
  }

  /** The three rate limit headers for this key now. */
  headers(key: string): Record<string, string> {
    if (this.#options.resetFormat === 'none') return {};
    const left = this.#options.requests - this.#current(key).length;
    return {
      'x-ratelimit-limit': String(this.#options.requests),
      'x-ratelimit-remaining': String(Math.max(0, left)),
      'x-ratelimit-reset': this.#reset(key),
    };
  }

  /** Whether responses have rate limit headers. */
  get silent(): boolean {
    return this.#options.resetFormat === 'none';
  }

  /** Removes all counted requests. */
  clear(): void {
    this.#spent.clear();
  }

  #current(key: string): number[] {
    const spent = this.#spent.get(key) ?? [];
    const horizon = this.#clock.wall() - this.#options.windowMs;
    if (this.#options.mode === 'sliding') return spent.filter((at) => at > horizon);
    // The first request opens the window; when it closes, all of its requests stop counting.
    return (spent[0] ?? Number.NEGATIVE_INFINITY) > horizon ? spent : [];
  }

  #resetAt(key: string): number {
    return (this.#current(key)[0] ?? this.#clock.wall()) + this.#options.windowMs;
  }

  #reset(key: string): string {
    const at = this.#resetAt(key);
    // Rounded up, so that a client that waits until the reset is not too early.
    const seconds = Math.ceil(at / 1000);
    switch (this.#options.resetFormat) {
      case 'epoch-ms':
        return String(at);
      case 'delta':
        return String(Math.ceil((at - this.#clock.wall()) / 1000));
      case 'http-date':
        return new Date(seconds * 1000).toUTCString();
      case 'timestamp':
        return stamp(seconds * 1000);
      default:
        return String(seconds);
    }
  }
}
