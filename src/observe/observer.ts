import type { ErrorCode, UpstreamName } from '../errors.ts';

/** Which queue a request waits in: see `Lane` of the budget. */
export type QueueLane = 'write' | 'interactive' | 'refresh';

/** Where the answer to a read came from. */
export type ReadResult = 'hit' | 'stale' | 'miss' | 'coalesced';

/** One request that is about to leave. */
interface UpstreamRequest {
  readonly upstream: UpstreamName;
  readonly method: string;
  /** What it is about, e.g. `channels`: one of few words, never an id. */
  readonly resource: string;
  /** Stands for the operation that it leaves for; absent when it leaves for nobody. */
  readonly operation: object | undefined;
}

/** What came of it. */
export interface UpstreamOutcome {
  /** `REFUSED`: by the rate limit. */
  readonly code: 'OK' | 'REFUSED' | ErrorCode;
  /** Why, for the operator's log and nobody else. */
  readonly cause?: unknown;
  readonly durationMs: number;
}

/** Somebody's eye on one request. */
interface RequestWatch {
  /** Sends the request; for those who must surround it. */
  run?<T>(work: () => T): T;
  end(outcome: UpstreamOutcome): void;
}

/** A finished GraphQL operation. */
export interface OperationRecord {
  readonly requestId: string;
  /** As the caller wrote it; `null` when it has none, or was not understood. */
  readonly name: string | null;
  readonly type: 'query' | 'mutation' | 'subscription' | 'unknown';
  /** Who asked; `null` when it was refused before that was known. */
  readonly caller: string | null;
  readonly status: number;
  /** Of its errors, each once. */
  readonly codes: readonly string[];
  /** `partial`: errors beside data. `failed`: errors and no data. */
  readonly outcome: 'ok' | 'partial' | 'failed';
  readonly durationMs: number;
  readonly calls: number;
  readonly waitedMs: number;
  readonly stale: number;
}

/** Whoever wants to know what the gateway does. Every member is told as it happens and must not throw. */
export interface Observer {
  request?(request: UpstreamRequest): RequestWatch;
  read?(upstream: UpstreamName, resource: string, result: ReadResult): void;
  /** A request had its turn after so many milliseconds in its lane. */
  waited?(upstream: UpstreamName, lane: QueueLane, ms: number): void;
  /** A member of an answer was not as documented: `resource.member`. */
  surprise?(upstream: UpstreamName, field: string): void;
  operation?(record: OperationRecord): void;
}

/** Tells several at once. */
export function observeWith(observers: readonly Observer[]): Observer {
  const each = (tell: (observer: Observer) => void): void => {
    for (const observer of observers) tell(observer);
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
    read: (...told) => each((observer) => observer.read?.(...told)),
    waited: (...told) => each((observer) => observer.waited?.(...told)),
    surprise: (...told) => each((observer) => observer.surprise?.(...told)),
    operation: (record) => each((observer) => observer.operation?.(record)),
  };
}
