import type { UpstreamName } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { EventReader } from './event-stream.ts';
import type { EventRows } from './events.ts';

/** Unanswered requests in a row, the last within `DOUBT_MS`, that mean "not reachable". */
const FAILURES_TO_DOUBT = 3;
/** Unless all were about one kind of resource, which can be out of order alone. */
const KINDS_TO_DOUBT = 2;
const DOUBT_MS = 60_000;

/** How the requests to one upstream have ended. Moments are on `clock.now()`; `null` is never. */
export interface UpstreamHealth {
  readonly answeredAt: number | null;
  readonly refusedAt: number | null;
  readonly failedAt: number | null;
  /** What the latest failure is called, e.g. `UPSTREAM_TIMEOUT`. */
  readonly failure: string | null;
  /** Requests since the last one that was answered at all, and what they were about. */
  readonly unansweredInARow: number;
  readonly unansweredKinds: ReadonlySet<string>;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type MutableHealth = Mutable<Omit<UpstreamHealth, 'unansweredKinds'>> & {
  readonly unansweredKinds: Set<string>;
};

/** Stands among the kinds for a host that cannot be reached at all. */
const EVERYTHING = '*';

/** Outcomes that say nothing about the upstream. */
const NOT_OF_THE_UPSTREAM: ReadonlySet<string> = new Set([
  'CANCELED',
  'LATE',
  'INTERNAL_SERVER_ERROR',
]);

/** Remembers how requests to each upstream ended, for readiness and for the status page. */
export class Health implements EventReader {
  readonly #clock: Clock;
  readonly #upstreams: Record<UpstreamName, MutableHealth> = {
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
    const { unansweredInARow, unansweredKinds, failedAt } = this.#upstreams[upstream];
    const lately = failedAt !== null && this.#clock.now() - failedAt < DOUBT_MS;
    const everywhere = unansweredKinds.has(EVERYTHING) || unansweredKinds.size >= KINDS_TO_DOUBT;
    return !(lately && everywhere && unansweredInARow >= FAILURES_TO_DOUBT);
  }

  requestEnded({ at, outcome, request }: EventRows['requestEnded']): void {
    const { code, fault, kind = EVERYTHING } = outcome;
    if (fault === 'caller' || NOT_OF_THE_UPSTREAM.has(code)) return;
    const health = this.#upstreams[request.upstream];
    if (code === 'UPSTREAM_UNAVAILABLE' || code === 'UPSTREAM_TIMEOUT') {
      health.unansweredInARow += 1;
      health.unansweredKinds.add(fault === 'host' ? EVERYTHING : kind);
    } else {
      health.unansweredInARow = 0;
      health.unansweredKinds.clear();
      health.answeredAt = at;
    }
    if (code === 'REFUSED') {
      health.refusedAt = at;
    } else if (code !== 'OK' && code !== 'UPSTREAM_REJECTED') {
      health.failedAt = at;
      health.failure = code;
    }
  }
}

function blank(): MutableHealth {
  return {
    answeredAt: null,
    refusedAt: null,
    failedAt: null,
    failure: null,
    unansweredInARow: 0,
    unansweredKinds: new Set(),
  };
}
