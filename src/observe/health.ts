import type { Clock } from '../clock.ts';
import type { UpstreamName } from '../errors.ts';
import type { Observer, ReadResult } from './observer.ts';

/** So many unanswered requests in a row, the last within `DOUBT_MS`, mean "not reachable". */
const FAILURES_TO_DOUBT = 3;
const DOUBT_MS = 60_000;

/** How the requests to one upstream have ended. Moments are on `clock.now()`; `null` is never. */
export interface UpstreamHealth {
  readonly answeredAt: number | null;
  readonly refusedAt: number | null;
  readonly failedAt: number | null;
  /** What the latest failure is called, e.g. `UPSTREAM_TIMEOUT`. */
  readonly failure: string | null;
  /** Requests since the last one that was answered at all. */
  readonly unansweredInARow: number;
  readonly reads: Readonly<Record<ReadResult, number>>;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Remembers how requests to each upstream ended, for readiness and for the status page. */
export class Health implements Observer {
  readonly #clock: Clock;
  readonly #upstreams: Record<
    UpstreamName,
    Mutable<UpstreamHealth> & { reads: Mutable<UpstreamHealth['reads']> }
  > = {
    LINKS: blank(),
    MARKET: blank(),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(upstream: UpstreamName): UpstreamHealth {
    return this.#upstreams[upstream];
  }

  /** False after several unanswered requests in a row, for a minute. True before the first one. */
  isReachable(upstream: UpstreamName): boolean {
    const { unansweredInARow, failedAt } = this.#upstreams[upstream];
    const lately = failedAt !== null && this.#clock.now() - failedAt < DOUBT_MS;
    return unansweredInARow < FAILURES_TO_DOUBT || !lately;
  }

  request({
    upstream,
  }: {
    readonly upstream: UpstreamName;
  }): ReturnType<Required<Observer>['request']> {
    const health = this.#upstreams[upstream];
    return {
      end: ({ code }) => {
        const now = this.#clock.now();
        if (code === 'UPSTREAM_UNAVAILABLE' || code === 'UPSTREAM_TIMEOUT') {
          health.unansweredInARow += 1;
        } else {
          health.unansweredInARow = 0;
          health.answeredAt = now;
        }
        if (code === 'REFUSED') {
          health.refusedAt = now;
        } else if (code !== 'OK' && code !== 'UPSTREAM_REJECTED') {
          health.failedAt = now;
          health.failure = code;
        }
      },
    };
  }

  read(upstream: UpstreamName, _resource: string, result: ReadResult): void {
    this.#upstreams[upstream].reads[result] += 1;
  }
}

function blank(): UpstreamHealth & { reads: Mutable<UpstreamHealth['reads']> } {
  return {
    answeredAt: null,
    refusedAt: null,
    failedAt: null,
    failure: null,
    unansweredInARow: 0,
    reads: { hit: 0, stale: 0, miss: 0, coalesced: 0 },
  };
}
