import type { UpstreamName } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { EventReader } from './event-stream.ts';
import type { EventRows } from './events.ts';

/** Failures in a row, the last within `DOUBT_MS`, that mean that an upstream does not work. */
const FAILURES_TO_DOUBT = 3;
/** Unless all were about one kind of resource, which can fail alone. */
const KINDS_TO_DOUBT = 2;
const DOUBT_MS = 60_000;
/** Time for which failures of one kind of resource are reported while the others succeed. */
const KIND_MS = 300_000;

/**
 * Requests to an upstream that have failed in a row, without a usable response between them: because the key was
 * rejected, or because of the upstream. Times are on `clock.now()`.
 */
interface FailureRun {
  /** Of the latest, in a few words, e.g. `HTTP 500 with HTML`. */
  readonly reason: string;
  /** Whether the others have the same reason. */
  readonly isUniform: boolean;
  readonly since: number;
  readonly lastAt: number;
  readonly inARow: number;
  /** The kind of resource of all of them; `null` if several kinds or the host fail. */
  readonly resource: string | null;
  /** Of the latest. */
  readonly code: string;
  /** Kinds of resources that have failed; these are words of ours, and few. */
  readonly kinds: ReadonlySet<string>;
}

/** The results of the requests to one upstream. */
interface UpstreamHealth {
  /** Of the latest answer, be it a refusal, on `clock.now()`; `null` before the first. */
  answeredAt: number | null;
  /** Of all requests, and of those for each kind of resource. */
  run: FailureRun | null;
  readonly runs: Map<string, FailureRun>;
}

/** Among the kinds, represents an unreachable host. */
const EVERYTHING = '*';

/** Failures without a response of the API. */
const UNANSWERED: ReadonlySet<string> = new Set(['UPSTREAM_UNAVAILABLE', 'UPSTREAM_TIMEOUT']);

/** Outcomes that reveal nothing about the upstream. */
const NOT_OF_THE_UPSTREAM: ReadonlySet<string> = new Set([
  'CANCELED',
  'LATE',
  'INTERNAL_SERVER_ERROR',
]);

/** Failures that are not caused by the requested object. */
const FAILURES: ReadonlySet<string> = new Set([
  ...UNANSWERED,
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

  /**
   * The failures in a row of an upstream that does not work: of several kinds of resources or of the host, the last within
   * a minute. `null` before that, and if only the key was rejected.
   */
  outageOf(upstream: UpstreamName): (FailureRun & { readonly isAnswered: boolean }) | null {
    const { run } = this.#upstreams[upstream];
    if (!run || isOfKey(run.code) || run.inARow < FAILURES_TO_DOUBT) return null;
    const everywhere = run.kinds.has(EVERYTHING) || run.kinds.size >= KINDS_TO_DOUBT;
    if (!everywhere || this.#clock.now() - run.lastAt >= DOUBT_MS) return null;
    return { ...run, isAnswered: !UNANSWERED.has(run.code) };
  }

  /** Whether it works, as far as known. True before the first request. */
  isReachable(upstream: UpstreamName): boolean {
    return this.outageOf(upstream) === null;
  }

  requestEnded(row: EventRows['requestEnded']): void {
    const { at, outcome, request } = row;
    const { code, fault, kind = EVERYTHING } = outcome;
    if ((fault === 'caller' && !isOfKey(code)) || NOT_OF_THE_UPSTREAM.has(code)) return;
    const health = this.#upstreams[request.upstream];
    if (!UNANSWERED.has(code)) health.answeredAt = at;
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

function isOfKey(code: string): boolean {
  return code === 'UPSTREAM_UNAUTHENTICATED';
}

/** A run with one additional failure; a new one if the others are no reason to expect it. */
function longer(
  before: FailureRun | null,
  { at, outcome, request }: EventRows['requestEnded'],
): FailureRun {
  const { code, fault, kind = EVERYTHING, reason = code } = outcome;
  const run = before && isOfKey(before.code) === isOfKey(code) ? before : null;
  const resource = fault === 'host' ? null : request.resource;
  return {
    reason,
    isUniform: run === null || (run.isUniform && run.reason === reason),
    since: run?.since ?? at,
    lastAt: at,
    inARow: (run?.inARow ?? 0) + 1,
    resource: run && run.resource !== resource ? null : resource,
    code,
    kinds: new Set(run?.kinds).add(fault === 'host' ? EVERYTHING : kind),
  };
}

function blank(): UpstreamHealth {
  return { answeredAt: null, run: null, runs: new Map() };
}
