import type { Socket } from 'node:net';
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getDirectiveValues,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  separateOperations,
} from 'graphql';
import type { FetchAPI } from 'graphql-yoga';
import type { Viewer } from '../../auth/viewer.ts';
import { BadUserInput } from '../../errors.ts';
import type { GraphContext } from '../../graph/context.ts';
import { liveDirective } from '../../graph/directives/directives.ts';
import { rangesNaming } from '../../http/door/headers/accept.ts';
import { waitsOf } from '../../jobs/retries.ts';
import type { LiveHub } from '../../live/hub.ts';
import type { LiveRun, RunResult } from '../../live/live-run.ts';
import type { LiveStream } from '../../live/stream.ts';
import { copiedName } from '../../observe/callers.ts';
import type { Asker } from '../../observe/events.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Contexts } from '../context.ts';
import { withoutParts } from '../delivery.ts';
import type { MaskError } from '../mask-error.ts';
import { shownError } from '../operations.ts';
import type { ServerContext } from '../request-record.ts';
import { operationName } from './use-observation.ts';

/** The options of live queries. */
export interface LiveOptions {
  readonly hub: LiveHub;
  readonly contexts: Contexts;
  readonly maskError: MaskError;
}

/** Maximum value of `throttle`, in milliseconds. */
const LONGEST_THROTTLE_MS = 60_000;

/** After this idle time the system checks whether a viewer is still connected: the sum is one heartbeat. */
const QUIET_MS = 5000;

/** A request with `@live`. */
interface AskedLive {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly execute: (input: ExecutionArgs) => unknown;
}

/**
 * Opens the event stream of a query with `@live`, if the client's `Accept` names `text/event-stream`; returns
 * whether it did. The query has passed all limits by then; from here on the hub executes it, once for all its
 * viewers. docs/live.md describes the protocol.
 */
export function openLive(
  { document, execute, operation, schema, variables }: AskedLive,
  { record, req, viewer }: ServerContext & GraphContext,
  { contexts, hub, maskError }: LiveOptions,
): boolean {
  const wanted = rangesNaming(record.accept, 'text/event-stream');
  if (wanted.length === 0) return false;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  // Invalid variables are reported as in any query, and do not become valid.
  if (!coerced) return false;
  const live = getDirectiveValues(liveDirective, operation, coerced) ?? {};
  if (record.holdsSecrets) {
    // Each run would send the secret again.
    throw new BadUserInput('A live query cannot select a secret. Query it without @live.');
  }

  const kept = liveOperationOf(document, operation, variables);
  const found = operationName(operation);
  const name = found === null ? null : copiedName(found);
  const stream = hub.open({
    key: JSON.stringify([kept.key, rightsOf(viewer)]),
    keptBytes: kept.key.length,
    run: runOf(kept, {
      asker: { requestId: record.requestId, operation: name },
      contexts,
      execute,
      maskError,
      schema,
      viewer,
    }),
    throttleMs: throttleOf(live),
    readsAges: wanted.some(({ parameters }) => parameters.includes('live=age')),
    viewer: {
      name,
      requestId: record.requestId,
      caller: viewer.name,
      check: checkOf(viewer, record.admission.identifyAgain(), maskError),
    },
  });
  // A vanished client is detected by the system, which sends ten probes, one per second.
  req?.socket.setKeepAlive(true, QUIET_MS);
  endWith(stream, req?.socket);
  // The hub reports when it begins and when it ends.
  record.observation = null;
  record.live = stream;
  record.letGoOfBody();
  // Its body has been read, and its reader would be retained for as long as the stream.
  req?.removeAllListeners('data').removeAllListeners('end');
  return true;
}

/** Runs a query. It is kept for as long as it has viewers: it must refer to nothing of the request. */
function runOf(
  operation: LiveOperation,
  terms: Pick<LiveOptions, 'contexts' | 'maskError'> & {
    /** The operation of its first viewer, by which upstream requests are logged. */
    readonly asker: Asker;
    readonly execute: (input: ExecutionArgs) => unknown;
    readonly schema: GraphQLSchema;
    readonly viewer: GraphContext['viewer'];
  },
): LiveRun {
  const { asker, contexts, execute, maskError, schema, viewer } = terms;
  const { variables } = operation;
  return async (reads, { isFirst, signal }) => {
    const mode = { kind: 'watched', watcher: reads } as const;
    const contextValue = contexts(viewer, { mode, signal, isPatient: !isFirst });
    contextValue.receipt.asker = asker;
    const document = documentOf(operation);
    const input = { schema, document, variableValues: variables, contextValue };
    const result = await executed(() => execute(input));
    return runResultOf(result, contextValue, maskError);
  };
}

/** The result, or an error that replaces it. */
async function executed(execute: () => unknown): Promise<ExecutionResult> {
  try {
    return (await execute()) as ExecutionResult;
  } catch (error) {
    return { data: null, errors: [new GraphQLError('', { originalError: error as Error })] };
  }
}

/**
 * Checks whether a viewer still has the same permissions. The credential is kept as long as they are connected. If
 * the role has changed, or the check fails, a new request determines the permissions.
 */
function checkOf(
  viewer: GraphContext['viewer'],
  identify: () => AtOnce<Viewer>,
  maskError: MaskError,
): () => Promise<object | 'changed' | null> {
  const rights = rightsOf(viewer);
  return async () => {
    try {
      const now = rightsOf(await identify());
      return now === rights ? null : 'changed';
    } catch (error) {
      const masked = maskError(error);
      const isFinal = ['UNAUTHENTICATED', 'FORBIDDEN'].includes(String(masked.extensions['code']));
      return isFinal ? shownError(masked) : 'changed';
    }
  };
}

/** A stream that is cut off takes its connection with it: what is piped into a response does not end it then. */
function endWith(stream: LiveStream, socket: Socket | undefined): void {
  stream.once('close', () => {
    if (!stream.readableEnded) socket?.destroy();
  });
}

/** The response of a stream. Yoga's own `Response` takes a stream of Node's as it is, and ends it when its connection is gone. */
export function liveResponse(stream: LiveStream, { Response: YogaResponse }: FetchAPI): Response {
  return new YogaResponse(stream as unknown as ReadableStream, {
    headers: {
      'Content-Type': 'text/event-stream; charset=utf-8',
      // For nginx, which otherwise waits until it has a page of it.
      'X-Accel-Buffering': 'no',
    },
  });
}

/** @throws BadUserInput `BAD_USER_INPUT` */
function throttleOf({ throttle }: Readonly<Record<string, unknown>>): number {
  const ms = throttle ?? 0;
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 0 || ms > LONGEST_THROTTLE_MS) {
    throw new BadUserInput(
      `The argument "throttle" of @live must be from 0 to ${LONGEST_THROTTLE_MS} milliseconds.`,
    );
  }
  return ms;
}

function rightsOf({ linksCredential, role }: GraphContext['viewer']): string {
  return `${role ?? ''} ${linksCredential?.partition ?? ''}`;
}

function runResultOf(
  { data, errors = [] }: ExecutionResult,
  { receipt, viewer }: GraphContext,
  maskError: MaskError,
): RunResult {
  const masked = errors.map((error) => maskError(error));
  const waits = waitsOf(masked);
  const isRefused =
    viewer.linksCredential !== undefined &&
    masked.some(({ extensions: { code } }) => code === 'UPSTREAM_UNAUTHENTICATED');
  return {
    document: { data: data ?? null, ...(masked.length > 0 && { errors: masked.map(shownError) }) },
    upstream: receipt.summary,
    ...(waits.length > 0 && { retryAfterMs: Math.max(...waits) }),
    ...(isRefused && { refused: true }),
  };
}

/** The part of a request that a live query keeps: all that its results depend on, and nothing else. */
interface LiveOperation {
  /** The operation and the fragments that it uses, printed: parsed again for each run, as a tree takes 50 times as much. */
  readonly text: string;
  /** The variables that the operation declares, as they were given. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Both as one text: equal for two requests with equal results. */
  readonly key: string;
}

/** Extracts the inputs of a live query from a request, without comments, other operations and undeclared variables. */
function liveOperationOf(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): LiveOperation {
  const others = document.definitions.filter(({ kind }) => kind !== Kind.OPERATION_DEFINITION);
  const all: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...others] };
  const [used = all] = Object.values(separateOperations(all));
  const text = copyOf(print(withoutParts(used)));
  const declared = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
  const names = declared.filter((name) => Object.hasOwn(given, name));
  // As JSON and back: a value may be a part of something larger.
  const json = JSON.stringify(names.map((name) => [name, given[name]]));
  const variables = Object.fromEntries(JSON.parse(json) as [string, unknown][]);
  return { text, variables, key: JSON.stringify([text, json]) };
}

/** The tree of an operation that is run. Its errors name no places in a text that no caller has sent. */
function documentOf({ text }: Pick<LiveOperation, 'text'>): DocumentNode {
  return parse(text, { noLocation: true });
}

/** A part of a text, or a text that is made of parts, would keep all of the whole in memory. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
