import type { UpstreamName } from '../errors.ts';
import type { JobRecord } from '../jobs/job.ts';
import type { QueueLane } from '../observe/events.ts';
import type { LoggedEvent } from '../observe/history/event-log.ts';
import type { ResourceHour, SendMinutes } from '../observe/history/history.ts';
import type { OperationCost } from '../observe/history/operations.ts';
import type { Recent } from '../observe/history/recent.ts';
import type { Readiness } from '../operators/readiness.ts';

/**
 * The owner of a slot of the window: a lane of this process, the process before, or another program with
 * the same key.
 */
export type SlotOwner = QueueLane | 'before' | 'co-tenant';

/** A slot of the window that is taken. */
export interface SlotState {
  readonly owner: SlotOwner;
  /** Milliseconds until it is free again; `null` while its request is on the wire. */
  readonly freeInMs: number | null;
  /** Its resource, e.g. `channels`; `null` if this process has not sent it. */
  readonly resource: string | null;
}

/** Requests to an upstream that have failed in a row. */
interface FailureState {
  /** Of the latest, in a few words, e.g. `HTTP 500 with HTML`. */
  readonly reason: string;
  /** Whether the others have the same reason. */
  readonly isUniform: boolean;
  /** When the first failed, in milliseconds since 1970. */
  readonly since: number;
  readonly inARow: number;
  /** The kind of resource of all of them; `null` if several kinds or the host fail. */
  readonly resource: string | null;
}

/** One upstream with the budget of its busiest key. */
export interface UpstreamState {
  readonly upstream: UpstreamName;
  readonly title: string;
  /** Keys in use, each with its own limit; the rest is about the one with the fewest free slots. */
  readonly keys: number;
  readonly limit: number;
  readonly windowMs: number;
  readonly free: number;
  /** Milliseconds until one more is free; `null` if none is taken. */
  readonly nextInMs: number | null;
  /** Milliseconds until all are; `null` if none is taken. */
  readonly allInMs: number | null;
  /** Milliseconds without requests after a refusal; 0 otherwise. */
  readonly pausedMs: number;
  readonly reachable: boolean;
  /** `null` where the latest request was answered. */
  readonly failure: FailureState | null;
  /** Milliseconds until the next attempt, while requests fail immediately and are not sent; 0 otherwise. */
  readonly heldMs: number;
  /** Milliseconds since its last response; `null` before the first. */
  readonly answeredMsAgo: number | null;
  /** Those that are taken, the first to be free first; the first 120 of them. */
  readonly slots: readonly SlotState[];
  readonly history: SendMinutes;
}

/** A request that waits for a slot. */
export interface WaitingState {
  readonly upstream: UpstreamName;
  readonly lane: QueueLane;
  readonly resource: string;
  /** The operation's own name; `null` if it has none, and for a refresh. */
  readonly operation: string | null;
  /** `null` if the viewer may not see it, and for a refresh. */
  readonly caller: string | null;
  /** Absent in the default class, and for a refresh. */
  readonly callerClass?: string | undefined;
  readonly waitedMs: number;
  /** Milliseconds until its turn, as far as can be known now; `null` for a refresh, which gives way to everyone. */
  readonly leavesInMs: number | null;
  /** Whether it fails at its turn without being sent: the circuit breaker is still open then. */
  readonly fails: boolean;
}

/** The requests of one caller that wait. */
export interface WaitingCallerState {
  /** `null` where the viewer may not know it. */
  readonly caller: string | null;
  /** Absent in the default class. */
  readonly callerClass?: string | undefined;
  readonly count: number;
  readonly longestMs: number;
}

/** Requests by caller or operation in the last hour. */
export interface SpenderState {
  readonly kind: 'caller' | 'refreshes' | 'foreign';
  /** Of a caller; `Caller 1`, `Caller 2` if the viewer may not see names. */
  readonly name: string | null;
  /** Of a caller; absent in the default class. A caller with requests in two classes has two rows. */
  readonly callerClass?: string | undefined;
  readonly sends: number;
  /** By resource, the most first; at most 8. */
  readonly resources: readonly { readonly resource: string; readonly sends: number }[];
}

/** A class of callers. Its name comes from the configuration. */
export interface ShownClass {
  readonly name: string;
  /** Its share of the slots while callers of several classes wait, relative to the other classes. */
  readonly weight: number;
  /** Requests of the last hour in this process. */
  readonly sends: number;
  /** Its requests that wait in this process. */
  readonly waiting: number;
  /** Its limit for each upstream; empty if it has none. */
  readonly quotas: readonly QuotaState[];
}

/** The limit of a class for one upstream in its window, see `classQuotas`. */
interface QuotaState {
  readonly upstream: UpstreamName;
  readonly limit: number;
  readonly used: number;
  /** Milliseconds until the class may send one more request; 0 if it may now. */
  readonly nextInMs: number;
}

/** One operation over the last hour, by its name. */
export interface OperationState extends OperationCost {
  /** `null`: all without a name. */
  readonly name: string | null;
  readonly type: string;
}

/** An export. */
export interface JobRow {
  /** For `Mutation.cancelJob` and the like. */
  readonly id: string;
  /** The list that it reads, such as `channels`. */
  readonly name: string;
  /** `null` if the viewer may not know it. */
  readonly caller: string | null;
  /** Absent in the default class. */
  readonly callerClass?: string | undefined;
  readonly state: JobRecord['state'];
  readonly rowsDone: number;
  /** `null` while it is unknown. */
  readonly rowsTotal: number | null;
  /** Upstream requests so far. */
  readonly calls: number;
  /** Estimated further ones; `null` while that is unknown, and if it has ended. */
  readonly callsLeft: number | null;
  /** When it will probably be complete, in milliseconds since 1970; `null` if that is unknown. */
  readonly readyAt: number | null;
  /** Rows or lines with errors. */
  readonly failures: number;
  /** Why it has failed or is paused, as a sentence. */
  readonly error: string | null;
}

/** The cache entries of one resource. */
export interface CacheState extends Required<ResourceHour> {
  readonly resource: string;
  readonly upstream: UpstreamName;
  readonly fresh: number;
  readonly stale: number;
  /** Of the oldest entry. */
  readonly oldestMs: number | null;
  readonly ttlMs: number;
  /** A sentence if a longer ttl would save much; `null` otherwise. */
  readonly hint: string | null;
}

/** The data of the console. Viewers without permission see no callers. */
export interface ConsoleState {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly version: string;
  readonly uptimeMs: number;
  readonly readiness: Readiness;
  /** Whether it names callers. */
  readonly named: boolean;
  /** What else can be opened here. */
  readonly links: {
    readonly graphiql: boolean;
    readonly schema: boolean;
  };
  /** The last five minutes of this process. */
  readonly recent: Recent;
  readonly upstreams: readonly UpstreamState[];
  /** Those that leave first; at most 50. */
  readonly waiting: readonly WaitingState[];
  /** Number of all waiting requests. */
  readonly waitingCount: number;
  /** Whose requests wait, refreshes aside, the most first; at most 5. */
  readonly waitingCallers: readonly WaitingCallerState[];
  /** The most first; at most 20. */
  readonly spenders: readonly SpenderState[];
  /** Exports. */
  readonly jobs: {
    /** Number of all jobs, and of those that have not ended. */
    readonly total: number;
    readonly open: number;
    /** Those that have not ended, then the others, both the latest first; at most 50. */
    readonly rows: readonly JobRow[];
  };
  /** Each configured class of callers and the default; empty if no class is configured. */
  readonly classes: readonly ShownClass[];
  /** The most requests first; at most 20. */
  readonly operations: readonly OperationState[];
  readonly cache: {
    readonly entries: number;
    readonly bytes: number;
    readonly maxBytes: number;
    readonly resources: readonly CacheState[];
  };
  /** The latest first; at most 12 of each kind. */
  readonly events: readonly LoggedEvent[];
  readonly live: { readonly streams: number; readonly groups: number };
}
