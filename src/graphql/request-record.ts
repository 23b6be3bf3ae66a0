import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'graphql-yoga';
import type { AnswerJson } from '../answers/answer-json.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { GraphContext } from '../graph/context.ts';
import type { Admission } from '../http/door/admission.ts';
import type { LiveStream } from '../live/stream.ts';
import type { OperationRecord } from '../observe/events.ts';
import type { Receipt, ReceiptSummary } from '../upstream/receipt.ts';

/** What Node gave, when the request came over a socket; absent when it came through `fetch`. */
interface SocketContext {
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
}

/** What a plugin has learned of a request, for its own later hooks and for the other plugins. */
export interface RequestRecord {
  /** The decisions of the door about it. */
  readonly admission: Admission;
  readonly requestId: string;
  /** Its `Accept` header; `null` if that only accepts JSON. */
  readonly accept: string | null;
  /** The caller; `null` until authenticated. */
  viewer: Viewer | null;
  /** Whether its response contains secrets: such a response is not stored, tagged or compressed. */
  holdsSecrets: boolean;
  /** The age of the oldest data in its response; `null` for a response that no browser may store. */
  ageSeconds: number | null;
  /** Whether all its writes with idempotency keys were executed by earlier requests. */
  isReplayed: boolean;
  /** The cost of its whole response; `null` until it is complete. */
  summary: ReceiptSummary | null;
  /** Its whole response as it is sent; `null` until it is serialised, and for incremental responses. */
  json: AnswerJson | null;
  /** How many operations it brought as a list, which is refused; `null` when it brought one. */
  batch: number | null;
  /** The key of its response, if it came by the fast path; `null` if that is not remembered. */
  readonly answerKey: string | null;
  /** The ingredients of its response, once it is known that it can be remembered. */
  remembering: Remembering | null;
  /** Releases the memory of its body when no part of the request is stored any more. */
  letGoOfBody: () => void;
  /** The events of its response, if it is a live query. */
  live: LiveStream | null;
  /** What is observed of it; `null` for a preflight, which is not an operation. */
  observation: Observation | null;
}

/** An operation whose response may be remembered. */
interface Remembering {
  readonly key: string;
  readonly receipt: Receipt;
  /** The whole response, once it is complete. */
  result: object | null;
  /** Of the cache, when the execution began. */
  readonly version: number;
}

/** What is known of an operation while it runs. */
export interface Observation {
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
  /** On `clock.now()`. */
  readonly startedAt: number;
  name: string | null;
  type: OperationRecord['type'];
  /** `null` for an operation that was refused before its execution. */
  caller: string | null;
  receipt: Receipt | null;
  readonly codes: Set<string>;
  hasData: boolean;
  /** Parts of its response follow after the response's headers. */
  streams: boolean;
  status: number;
}

/** What Yoga hands to every hook: one object per request. */
export interface ServerContext extends SocketContext {
  /** Absent when the request came through `fetch`. */
  readonly admission?: Admission;
  /** As in its response; absent if the request came through `fetch`. */
  readonly requestId?: string;
  /** Bytes that its body may have; absent when the request came through `fetch`. */
  readonly maxBodyBytes?: number;
  /** For requests that came the fast path. */
  readonly answerKey?: string | null;
  /** There from the first plugin on. */
  record: RequestRecord;
}

/** A plugin with access to the record of the request and the context of the operation. */
export type GatewayPlugin = Plugin<ServerContext & GraphContext, ServerContext, GraphContext>;
