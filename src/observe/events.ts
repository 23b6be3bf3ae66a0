import type { IncomingMessage } from 'node:http';
import type { ErrorCode, UpstreamName } from '../errors.ts';

/**
 * All events by name, with their data. Log, metrics, traces, health and history are derived from these rows only.
 */
export interface EventRows {
  /** The gateway listens. */
  readonly listening: { readonly version: string };
  /** The gateway is about to stop. */
  readonly draining: null;
  /** A fact about the whole process, only for the log. */
  readonly notice: {
    readonly message: string;
    readonly facts?: Readonly<Record<string, string | number | boolean>>;
  };
  /** A problem that the operator should fix, in one sentence without external text. */
  readonly complaint: { readonly sentence: string };
  /** A JWT is not valid: the reason, one of few words, and the value of the configuration that it differs from. */
  readonly tokenRejected: { readonly reason: string; readonly expected?: string | undefined };
  /** A bug of the gateway, with the id of the request that caused it, if there is one. */
  readonly defect: { readonly error: unknown; readonly requestId?: string | undefined };
  /** A scrape or the console is about to read: bulk counts are emitted now. */
  readonly look: null;

  /** An HTTP request has arrived, in the span that an instrumentation of the server may have begun for it. */
  readonly arrived: IncomingMessage;
  readonly operationBegan: {
    /** Identifies the operation: `UpstreamRequest.operation` repeats it. */
    readonly operation: object;
    readonly type: OperationRecord['type'];
    readonly origin: TraceOrigin;
  };
  /** `operation` is null for one that was refused before it began. `at` is on `clock.now()`. */
  readonly operationEnded: {
    readonly at: number;
    readonly operation: object | null;
    readonly record: OperationRecord;
  };
  /** One operation was served on the fast path. */
  readonly answered: { readonly request: IncomingMessage; readonly record: OperationRecord };
  /** Operations served on the fast path since the last such event. */
  readonly answeredInBulk: {
    /** How many. */
    readonly remembered: number;
    readonly names: AnswersByName;
    /** Age of the oldest answer among them, in milliseconds. */
    readonly maxAgeMs: number;
  };

  /** One read was answered; `reads` follows for all of them in bulk. */
  readonly read: ReadRow;
  /** Reads answered since the last such event, by upstream, resource and result. */
  readonly reads: ReadRow & { readonly times: number };
  /** Requests that operations of a caller did not need, because of the cache or of a request in flight. */
  readonly saved: {
    readonly caller: string;
    /** Absent in the default class. */
    readonly callerClass?: string | undefined;
    /** The name of the operation. */
    readonly operation: string | null;
    /** Of one operation. */
    readonly kinds: readonly SavedKind[];
    /** Number of operations. */
    readonly times: number;
  };
  /** A request starts or stops waiting in its lane. */
  readonly queue: { readonly upstream: UpstreamName; readonly change: 1 | -1 };
  /** A request got its slot after `ms` milliseconds in its lane. */
  readonly waited: {
    readonly upstream: UpstreamName;
    readonly lane: QueueLane;
    readonly ms: number;
  };
  /** Its first byte is sent soon: a connection may have to be opened before. */
  readonly requestSent: UpstreamRequest;
  /** `request` is the object that `requestSent` had. `at` is on `clock.now()`. */
  readonly requestEnded: {
    readonly at: number;
    readonly request: UpstreamRequest;
    readonly outcome: UpstreamOutcome;
  };
  /** `count` requests of other programs now count against a key. */
  readonly foreign: { readonly upstream: UpstreamName; readonly count: number };
  /** After a refusal, no request is sent with a key for `ms` milliseconds. */
  readonly paused: { readonly upstream: UpstreamName; readonly ms: number };
  /** A member of a response differs from the documentation; `field` is `resource.member`. */
  readonly surprise: { readonly upstream: UpstreamName; readonly field: string };

  /** A write that has an idempotency key, or whose response was lost, has ended for its caller. */
  readonly keyed: KeyedWrite;
  /** `count` records of keys were removed before their time, because the store is full. */
  readonly keysForgotten: { readonly count: number };
  /** An update was not sent, because the row differs from what its caller expects. */
  readonly conflict: { readonly upstream: UpstreamName };

  /** A live query was run. */
  readonly liveRun: null;
  readonly liveBegan: ViewerOfQuery;
  readonly liveEnded: ViewerOfQuery & {
    /** One of few phrases. */
    readonly reason: string;
    readonly durationMs: number;
    /** The sent events and bytes. */
    readonly events: number;
    readonly bytes: number;
  };
}

/** The name of an event. */
export type EventName = keyof EventRows;

/** The lane in which a request waits: see `Lane` of the budget. */
export type QueueLane = 'write' | 'interactive' | 'refresh' | 'bulk';

/** The source of a read. */
export type ReadResult = 'hit' | 'stale' | 'miss' | 'coalesced';

interface ReadRow {
  readonly upstream: UpstreamName;
  readonly resource: string;
  readonly result: ReadResult;
}

/** Avoided requests for one resource. */
export interface SavedKind {
  readonly upstream: UpstreamName;
  readonly resource: string;
  readonly count: number;
}

/** An operation, as logs and the console name it. */
export interface Asker {
  readonly requestId: string;
  /** Its own name; `null` if it has none. */
  readonly operation: string | null;
  /** The class of its caller; absent in the default class. */
  readonly callerClass?: string | undefined;
}

/** Why a request is sent. */
export interface RequestOrigin {
  readonly lane: QueueLane;
  /** The caller to which its slot is charged; `null` for a refresh. */
  readonly caller: string | null;
  /** The class of that caller; `null` for a refresh. */
  readonly callerClass: string | null;
  /** The operation that it is sent for; `null` for a refresh, and if the operation is unknown. */
  readonly asker: Asker | null;
  /** Whether a valid response exists, so that only its ttl made this request necessary. */
  readonly renews: boolean;
}

/** One request to an upstream. */
interface UpstreamRequest extends RequestOrigin {
  readonly upstream: UpstreamName;
  /** On `clock.now()`. */
  readonly sentAt: number;
  readonly method: string;
  /** Its resource, e.g. `channels`: one of few words, never an id. */
  readonly resource: string;
  /** Identifies the operation that it is sent for; absent for a refresh. */
  readonly operation: object | undefined;
}

/**
 * The cause of a failed request: the whole upstream, this kind of resource, or the caller, whose upload was incomplete or
 * slow, or whose own key was rejected.
 */
export type Fault = 'host' | 'resource' | 'caller';

/** How an upstream request ended. */
export interface UpstreamOutcome {
  /**
   * `REFUSED`: by the rate limit. `CANCELED`: the bytes to send ended early. `LATE`: not sent, because its slot was granted
   * too long ago.
   */
  readonly code: 'OK' | 'REFUSED' | 'CANCELED' | 'LATE' | ErrorCode;
  /** Whether no byte of it was sent. */
  readonly isUnsent?: boolean;
  /** Absent if the upstream has responded, even with a refusal. */
  readonly fault?: Fault | undefined;
  /** The kind of resource, e.g. `qr`, for a list and for its rows. */
  readonly kind?: string;
  /** Why it failed, for the operator's log only. */
  readonly cause?: unknown;
  /** The same in a few words without any text of the upstream, e.g. `HTTP 500 with HTML`. */
  readonly reason?: string;
  /** The operations that waited for it, beside the one that it was sent for. Present where it failed. */
  readonly sharedWith?: readonly Asker[];
  readonly durationMs: number;
}

/**
 * How a write with an idempotency key, or with a lost response, ended. `executed`: the upstream has confirmed it.
 * `replayed`: an earlier call with the key has its result. `reconciled`: the change was found after a lost response.
 * `rejected`: by the upstream. `conflict_in_use`: another call still uses the key. `reused`: the key has other arguments.
 */
export type KeyedEnd =
  | 'executed'
  | 'replayed'
  | 'reconciled'
  | 'unknown'
  | 'rejected'
  | 'conflict_in_use'
  | 'reused';

/** The end of a write that has an idempotency key, or whose response was lost. No member has a value of its input. */
export interface KeyedWrite {
  readonly upstream: UpstreamName;
  /** The mutation field, e.g. `createChannel`; without a key the request, e.g. `POST channel`. */
  readonly mutation: string;
  readonly outcome: KeyedEnd;
  /** The first eight characters of the name of its record; `null` without a key. */
  readonly key: string | null;
  /** `null` if the operation is unknown. */
  readonly asker: Asker | null;
  readonly caller: string | null;
  /** Requests that this call has sent to look for what was created. */
  readonly reads: number;
  /** From when on a retry can find out, in milliseconds since 1970; only if the outcome is unknown. */
  readonly settlesAt: number | null;
}

/** A finished GraphQL operation. */
export interface OperationRecord {
  readonly requestId: string;
  /** As the caller wrote it; `null` when it has none, or was not understood. */
  readonly name: string | null;
  readonly type: 'query' | 'mutation' | 'subscription' | 'upload' | 'unknown';
  /** `null` when the operation was refused before its caller was known. */
  readonly caller: string | null;
  /** Absent in the default class. */
  readonly callerClass?: string | undefined;
  readonly status: number;
  /** Of its errors, each once. */
  readonly codes: readonly string[];
  /** `partial`: errors and data. `failed`: errors and no data. `canceled`: the client disconnected. */
  readonly outcome: 'ok' | 'partial' | 'failed' | 'canceled';
  readonly durationMs: number;
  readonly calls: number;
  /** Requests avoided by the cache or by coalescing. */
  readonly saved: number;
  readonly waitedMs: number;
  readonly stale: number;
  /** Age of the oldest response used, in milliseconds. */
  readonly maxAgeMs: number;
}

/** The origin of an operation, for the trace of its span. */
export interface TraceOrigin {
  /** Reads a header. Only those of the trace context are used. */
  readonly header: (name: string) => string | null | undefined;
  /** The request of Node; absent for an operation without a socket. */
  readonly request: IncomingMessage | undefined;
}

/** How often operations of a name were answered on the fast path, and how many cached reads they used. */
type AnswersByName = ReadonlyMap<string | null, { readonly runs: number; readonly saved: number }>;

/** A viewer of a live query. */
interface ViewerOfQuery {
  readonly name: string | null;
  readonly caller: string;
  readonly requestId: string;
}
