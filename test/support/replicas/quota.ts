/** How an upstream counts requests, and what it says about that. */
export interface QuotaOptions {
  readonly requests: number;
  readonly windowMs: number;
  /** `fixed`: windows that begin at even moments. `sliding`: any interval of `windowMs`. */
  readonly mode: 'fixed' | 'sliding';
  /** Whether answers carry `X-RateLimit-*` headers. */
  readonly tells: boolean;
  /** Whether what is over the limit is refused. */
  readonly refuses: boolean;
}

/** The limit of one API key, on `performance.now()`; counts what it does not refuse, strangers' included. */
export class Quota {
  readonly #options: QuotaOptions;
  #spent: number[] = [];

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** Counts requests of somebody else who uses the same key. */
  spend(requests: number): void {
    for (let nth = 0; nth < requests; nth += 1) this.#spent.push(performance.now());
  }

  /** Counts one request, or answers how many milliseconds from now one will be taken. */
  take(): number | null {
    const current = this.#current();
    if (this.#options.refuses && current.length >= this.#options.requests) return this.#resetIn();
    this.#spent = [...current, performance.now()];
    return null;
  }

  /** The headers of the limit at this moment; none where it is silent. */
  headers(): Record<string, string> {
    const { requests, tells } = this.#options;
    if (!tells) return {};
    return {
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(Math.max(0, requests - this.#current().length)),
      // Milliseconds of the epoch: a window of tests is too short for seconds.
      'x-ratelimit-reset': String(Math.ceil(Date.now() + this.#resetIn())),
    };
  }

  #current(): number[] {
    const { mode, windowMs } = this.#options;
    const now = performance.now();
    const from = mode === 'fixed' ? now - (now % windowMs) : now - windowMs;
    return this.#spent.filter((at) => at > from);
  }

  #resetIn(): number {
    const { mode, windowMs } = this.#options;
    const now = performance.now();
    if (mode === 'fixed') return windowMs - (now % windowMs);
    return (this.#current()[0] ?? now) + windowMs - now;
  }
}
