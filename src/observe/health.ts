import type { UpstreamName } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { EventReader } from './event-stream.ts';
import type { EventRows } from './events.ts';

/** Unanswered requests in a row, the last within `DOUBT_MS`, that mean "not reachable". */
const FAILURES_TO_DOUBT = 3;
/** Unless all were about one kind of resource, which can fail alone. */
const KINDS_TO_DOUBT = 2;
const DOUBT_MS = 60_000;
/** Time for which failures of one kind of resource are reported while the others succeed. */
const KIND_MS = 300_000;

/** Requests to an upstream that have failed in a row, without a usable response between them. Times are on `clock.now()`. */
interface FailureRun {
  /** Of the latest, in a few words, e.g. `HTTP 500 with HTML`. */
  readonly reason: string;
  readonly since: number;
  readonly lastAt: number;
  readonly inARow: number;
  /** The kind of resource of all of them; `null` if several kinds or the host fail. */
  readonly resource: string | null;
}

/** The results of the requests to one upstream. */
interface UpstreamHealth {
  /** Of the latest answer, be it a refusal, on `clock.now()`; `null` before the first. */
  answeredAt: number | null;
  failedAt: number | null;
  /** Requests since the last one with a response, and their kinds. */
  unansweredInARow: number;
  readonly unansweredKinds: Set<string>;
  /** Of all requests, and of those for each kind of resource; these kinds are words of ours, and few. */
  run: FailureRun | null;
  readonly runs: Map<string, FailureRun>;
}

/** Among the kinds, represents an unreachable host. */
const EVERYTHING = '*';

/** Outcomes that reveal nothing about the upstream. */
const NOT_OF_THE_UPSTREAM: ReadonlySet<string> = new Set([
  'CANCELED',
  'LATE',
  'INTERNAL_SERVER_ERROR',
]);

/** Failures that are not caused by the requested object. */
const FAILURES: ReadonlySet<string> = new Set([
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_INVALID_RESPONSE',
  'UPSTREAM_UNAUTHENTICATED',
]);

/** Remembers how requests to each upstream ended, for readiness and for the console. */
export class Health implements EventReader {
  readonly #clock: Clock;
  readonly #upstreams: Readonly<Record<UpstreamName, UpstreamHealth>> = {
    LINKS: blank(),
    MARKET: blank(),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the latest response arrived, even a refusal, on `clock.now()`; `null` before the first. */
  answeredAt(upstream: UpstreamName): number | null {
    return this.#upstreams[upstream].answeredAt;
  }

  /**
   * The failures in a row of an upstream; if other requests succeed, those of the kind of resource that failed last, within
   * the last five minutes. `null` if none fails.
   */
  failuresOf(upstream: UpstreamName): FailureRun | null {
    const { run, runs } = this.#upstreams[upstream];
    if (run) return run;
    let latest: FailureRun | null = null;
    for (const each of runs.values()) if (each.lastAt >= (latest?.lastAt ?? 0)) latest = each;
    return latest && this.#clock.now() - latest.lastAt < KIND_MS ? latest : null;
  }

  /** False after several unanswered requests in a row, for a minute. True before the first one. */
  isReachable(upstream: UpstreamName): boolean {
    const { unansweredInARow, unansweredKinds, failedAt } = this.#upstreams[upstream];
    const lately = failedAt !== null && this.#clock.now() - failedAt < DOUBT_MS;
    const everywhere = unansweredKinds.has(EVERYTHING) || unansweredKinds.size >= KINDS_TO_DOUBT;
    return !(lately && everywhere && unansweredInARow >= FAILURES_TO_DOUBT);
  }

  requestEnded(row: EventRows['requestEnded']): void {
    const { at, outcome, request } = row;
    const { code, fault, kind = EVERYTHING } = outcome;
    const isOfKey = code === 'UPSTREAM_UNAUTHENTICATED';
    if ((fault === 'caller' && !isOfKey) || NOT_OF_THE_UPSTREAM.has(code)) return;
    const health = this.#upstreams[request.upstream];
    if (code === 'UPSTREAM_UNAVAILABLE' || code === 'UPSTREAM_TIMEOUT') {
      health.unansweredInARow += 1;
      health.unansweredKinds.add(fault === 'host' ? EVERYTHING : kind);
      health.failedAt = at;
    } else {
      health.unansweredInARow = 0;
      health.unansweredKinds.clear();
      health.answeredAt = at;
    }
    if (FAILURES.has(code) && fault !== 'caller') {
      health.run = longer(health.run, row);
      // A reachable host does not depend on the kind.
      if (fault !== 'host') health.runs.set(kind, longer(health.runs.get(kind) ?? null, row));
    } else {
      // Failures of a complete outage end with it.
      if (health.run?.resource === null) health.runs.clear();
      health.run = null;
      health.runs.delete(kind);
    }
  }
}

/** A run with one additional failure. */
function longer(
  run: FailureRun | null,
  { at, outcome, request }: EventRows['requestEnded'],
): FailureRun {
  const { code, fault, reason = code } = outcome;
  const resource = fault === 'host' ? null : request.resource;
  return {
    reason,
    since: run?.since ?? at,
    lastAt: at,
    inARow: (run?.inARow ?? 0) + 1,
    resource: run && run.resource !== resource ? null : resource,
  };
}

function blank(): UpstreamHealth {
  return {
    answeredAt: null,
    failedAt: null,
    unansweredInARow: 0,
    unansweredKinds: new Set(),
    run: null,
    runs: new Map(),
  };
}
