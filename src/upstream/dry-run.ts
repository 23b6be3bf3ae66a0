import type { UpstreamName } from '../errors.ts';

/** What an operation would cost if it were sent now, as `extensions.plan` tells it. */
export interface Plan {
  /** Requests that would leave the gateway. */
  readonly calls: number;
  /** The same by upstream: each has a limit of its own. */
  readonly callsByUpstream: Readonly<Record<UpstreamName, number>>;
  readonly saved: {
    /** Requests not needed, since a kept answer would serve. */
    readonly cache: number;
    /** Requests not needed, since one that is under way would serve. */
    readonly coalesced: number;
  };
  /** False when it depends on rows that are not known yet; `calls` is then what it costs if as many come as are asked for. */
  readonly exact: boolean;
}

/**
 * Stands in for the upstreams while an operation is only priced: what would have to be asked is
 * counted, and answered with rows that are nobody's, whose ids are negative. Nothing is sent.
 */
export class Rehearsal {
  readonly #calls = new Map<string, UpstreamName>();
  readonly #kept = new Set<string>();
  readonly #joined = new Set<string>();
  #exact = true;
  #alones = 0;

  /** A kept answer would serve. */
  keeps(key: string): void {
    this.#kept.add(key);
  }

  /** A request under way would serve. */
  joins(key: string): void {
    this.#joined.add(key);
  }

  /** A request would leave, once however often its answer is needed. */
  calls(upstream: UpstreamName, key: string): void {
    this.#calls.set(key, upstream);
  }

  /** A request would leave that nobody else has any part in. */
  callsAlone(upstream: UpstreamName): void {
    this.#alones += 1;
    this.calls(upstream, `alone ${this.#alones}`);
  }

  /** What is counted from here on depends on rows that are not known. */
  guesses(): void {
    this.#exact = false;
  }

  get plan(): Plan {
    const byUpstream = (name: UpstreamName) =>
      [...this.#calls.values()].filter((upstream) => upstream === name).length;
    return {
      calls: this.#calls.size,
      callsByUpstream: { LINKS: byUpstream('LINKS'), MARKET: byUpstream('MARKET') },
      saved: { cache: this.#kept.size, coalesced: this.#joined.size },
      exact: this.#exact,
    };
  }
}
