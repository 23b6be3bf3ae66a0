import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { AnswerJson } from '../answers/answer-json.ts';
import type { RequestNames } from '../answers/request-names.ts';
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
  /** What the door has decided about it. */
  readonly admission: Admission;
  readonly requestId: string;
  /** Its `Accept` header; `null` where that only says that JSON is accepted. */
  readonly accept: string | null;
  /** Who sent it; `null` until that is settled. */
  viewer: Viewer | null;
  /** Whether its answer holds secrets: such an answer is not stored, tagged or compressed. */
  holdsSecrets: boolean;
  /** The age of the oldest thing in its answer; `null` for an answer that no browser may cache. */
  ageSeconds: number | null;
  /** What its whole answer cost; `null` until there is one. */
  summary: ReceiptSummary | null;
  /** Its whole answer as it is sent; `null` until it is serialised, and for one that goes out in parts or events. */
  json: AnswerJson | null;
  /** How many operations it brought as a list, which is refused; `null` when it brought one. */
  batch: number | null;
  /** What it goes by where it came the fast path; `null` where nothing of it is remembered. */
  readonly names: RequestNames | null;
  /** What the answer will be made of, once it is known to be one that can be remembered. */
  remembering: Remembering | null;
  /** Gives back the room that its body has taken, once nothing of the request is kept any more. */
  letGoOfBody: () => void;
  /** The events that answer it, where it is a live query. */
  live: LiveStream | null;
  /** What is observed of it; `null` for a preflight, which is no operation. */
  observation: Observation | null;
}

/** An operation whose answer may be remembered. */
interface Remembering {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly schema: GraphQLSchema;
  readonly receipt: Receipt;
  /** The whole answer, once there is one. */
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
  /** Parts of its answer follow after the response's head. */
  streams: boolean;
  status: number;
}

/** What Yoga hands to every hook: one object per request. */
export interface ServerContext extends SocketContext {
  /** Absent when the request came through `fetch`. */
  readonly admission?: Admission;
  /** As its answer has it; absent when the request came through `fetch`. */
  readonly requestId?: string;
  /** Bytes that its body may have; absent when the request came through `fetch`. */
  readonly maxBodyBytes?: number;
  /** For requests that came the fast path. */
  readonly names?: RequestNames | null;
  /** There from the first plugin on. */
  record: RequestRecord;
}

/** A plugin that knows the record of the request and the context of the operation. */
export type GatewayPlugin = Plugin<ServerContext & GraphContext, ServerContext, GraphContext>;
