import type { ErrorCode, UpstreamName } from '../errors.ts';

/** Which queue a request waits in: see `Lane` of the budget. */
export type QueueLane = 'write' | 'interactive' | 'refresh';

/** Where the answer to a read came from. */
export type ReadResult = 'hit' | 'stale' | 'shared' | 'miss' | 'coalesced';

/** An operation, as those who watch over what it costs know it. */
export interface Asker {
  readonly requestId: string;
  /** Its own name; `null` where it has none. */
  readonly operation: string | null;
}

/** Why a request leaves. */
export interface RequestOrigin {
  readonly lane: QueueLane;
  /** Whom its slot is charged to; `null` for a refresh. */
  readonly caller: string | null;
  /** Which operation it leaves for; `null` for a refresh, and where nothing is known of the operation. */
  readonly asker: Asker | null;
  /** Whether there is an answer already that no write has made wrong: only its ttl made this necessary. */
  readonly renews: boolean;
}

/** One request about to be sent upstream. */
interface UpstreamRequest extends RequestOrigin {
  readonly upstream: UpstreamName;
  readonly method: string;
  /** What it is about, e.g. `channels`: one of few words, never an id. */
  readonly resource: string;
  /** Identifies the operation that it is sent for; absent for a refresh. */
  readonly operation: object | undefined;
}

/**
 * Whose fault it is that a request brought nothing: the upstream's as a whole, its for this kind of
 * resource, or the caller's, whose bytes ended early or came as they pleased.
 */
export type Fault = 'host' | 'resource' | 'caller';

/** How an upstream request ended. */
export interface UpstreamOutcome {
  /**
   * `REFUSED`: by the rate limit. `CANCELED`: the bytes to send ended early. `LATE`: it did not leave, since its
   * slot was given too long ago.
   */
  readonly code: 'OK' | 'REFUSED' | 'CANCELED' | 'LATE' | ErrorCode;
  /** Absent when the upstream has answered, be it with a refusal. */
  readonly fault?: Fault | undefined;
  /** What it was about, e.g. `qr`: a list as well as a row of it. Present beside a fault. */
  readonly kind?: string;
  /** Why it failed, for the operator's log only. */
  readonly cause?: unknown;
  readonly durationMs: number;
}

/** What one observer does about one request. */
interface RequestWatch {
  /** Runs the request inside itself, e.g. within a span. */
  run?<T>(work: () => T): T;
  end(outcome: UpstreamOutcome): void;
}

/** A finished GraphQL operation. */
export interface OperationRecord {
  readonly requestId: string;
  /** As the caller wrote it; `null` when it has none, or was not understood. */
  readonly name: string | null;
  readonly type: 'query' | 'mutation' | 'subscription' | 'upload' | 'unknown';
  /** `null` when the operation was refused before its caller was known. */
  readonly caller: string | null;
  readonly status: number;
  /** Of its errors, each once. */
  readonly codes: readonly string[];
  /** `partial`: errors beside data. `failed`: errors and no data. `canceled`: the caller hung up. */
  readonly outcome: 'ok' | 'partial' | 'failed' | 'canceled';
  readonly durationMs: number;
  readonly calls: number;
  /** Calls that the cache or a request under way spared. */
  readonly saved: number;
  readonly waitedMs: number;
  readonly stale: number;
}

/** How long the wait of a writer for other replicas took, and how it ended. */
export type SettledHow = 'acks' | 'lease' | 'epoch' | 'gave_up';

/** What came of a request's claim for a slot that replicas share. */
export type PermitOutcome = 'go' | 'join' | 'landed' | 'unsent' | 'doubtful';

/** Follows what the gateway does: logs, metrics, spans. Members are called at once; none may throw. */
export interface Observer {
  request?(request: UpstreamRequest): RequestWatch;
  /** `times` is 1 where it is left out. */
  read?(upstream: UpstreamName, resource: string, result: ReadResult, times?: number): void;
  /** A request got its slot after so many milliseconds in its lane. */
  waited?(upstream: UpstreamName, lane: QueueLane, ms: number): void;
  /** A request begins to wait in its lane, or does not any more. */
  queue?(upstream: UpstreamName, change: 1 | -1): void;
  /** So many requests that this process did not send have come to count against a key. */
  foreign?(upstream: UpstreamName, count: number): void;
  /** After a refusal nothing is sent under a key for so many milliseconds. */
  paused?(upstream: UpstreamName, ms: number): void;
  /** A member of an answer was not as documented: `resource.member`. */
  surprise?(upstream: UpstreamName, field: string): void;
  readonly operation?: ((record: OperationRecord) => void) | undefined;
  /** A command went to Redis and came back after so many milliseconds, or `ok` is false. */
  roundTrip?(command: string, ms: number, ok: boolean): void;
  permit?(upstream: UpstreamName, outcome: PermitOutcome): void;
  /** A write is known to all replicas. */
  settled?(how: SettledHow, ms: number): void;
  /** Redis cannot be asked from now on, or can again. */
  outage?(isOut: boolean): void;
  /** Redis has lost its memory. */
  epoch?(): void;
  /** An answer in Redis could not be used. */
  unreadable?(): void;
  /**
   * So many queries were answered in front of everything else, from remembered bytes or by being executed over
   * what was at hand; none of them is told by `operation`. `names` has them by name.
   */
  answeredInFront?(remembered: number, executed: number, names: InFrontByName): void;
  /** A live query was run, because somebody came to look at it or because of a change. */
  liveRun?(): void;
  /** Somebody began to look at a live query, or does not any more. */
  live?(record: LiveRecord): void;
}

/** How often operations of a name were answered in front, and how many reads from the cache that took. */
export type InFrontByName = ReadonlyMap<
  string | null,
  { readonly runs: number; readonly saved: number }
>;

/** A viewer of a live query. */
type LiveRecord = {
  readonly name: string | null;
  readonly caller: string;
  readonly requestId: string;
} & (
  | { readonly kind: 'started' }
  | {
      readonly kind: 'ended';
      /** One of few phrases. */
      readonly reason: string;
      readonly durationMs: number;
      /** What was given away. */
      readonly events: number;
      readonly bytes: number;
    }
);

/** Joins observers into one that calls all of them, in order. */
export function observeWith(observers: readonly Observer[]): Observer {
  const each = (call: (observer: Observer) => void): void => {
    for (const observer of observers) call(observer);
  };
  return {
    request(request) {
      const watches = observers.flatMap((observer) => observer.request?.(request) ?? []);
      return {
        run: (work) =>
          watches.reduceRight<() => ReturnType<typeof work>>(
            (inner, watch) => () => (watch.run ? watch.run(inner) : inner()),
            work,
          )(),
        end: (outcome) => {
          for (const watch of watches) watch.end(outcome);
        },
      };
    },
    read: (...args) => each((observer) => observer.read?.(...args)),
    waited: (...args) => each((observer) => observer.waited?.(...args)),
    queue: (...args) => each((observer) => observer.queue?.(...args)),
    foreign: (...args) => each((observer) => observer.foreign?.(...args)),
    paused: (...args) => each((observer) => observer.paused?.(...args)),
    surprise: (...args) => each((observer) => observer.surprise?.(...args)),
    operation: (record) => each((observer) => observer.operation?.(record)),
    roundTrip: (...args) => each((observer) => observer.roundTrip?.(...args)),
    permit: (...args) => each((observer) => observer.permit?.(...args)),
    settled: (...args) => each((observer) => observer.settled?.(...args)),
    outage: (isOut) => each((observer) => observer.outage?.(isOut)),
    epoch: () => each((observer) => observer.epoch?.()),
    unreadable: () => each((observer) => observer.unreadable?.()),
    answeredInFront: (...args) => each((observer) => observer.answeredInFront?.(...args)),
    liveRun: () => each((observer) => observer.liveRun?.()),
    live: (record) => each((observer) => observer.live?.(record)),
  };
}
