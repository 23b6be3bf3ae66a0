import {
  type DocumentNode,
  type GraphQLFormattedError,
  getOperationAST,
  type OperationDefinitionNode,
} from 'graphql';
import { shownClass } from '../../observe/callers.ts';
import type { BulkOptions } from '../../observe/event-stream.ts';
import type { OperationRecord } from '../../observe/events.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { CANCELED } from '../mask-error.ts';
import type { GatewayPlugin, Observation, RequestRecord } from '../request-record.ts';

/** What is known of an operation that begins now. `signal` aborts when its caller hangs up. */
export function newObservation(signal: AbortSignal, clock: Clock): Observation {
  return {
    signal,
    startedAt: clock.now(),
    name: null,
    type: 'unknown',
    caller: null,
    receipt: null,
    codes: new Set(),
    hasData: false,
    streams: false,
    status: 0,
  };
}

/** The name of an operation for logs and spans, truncated if necessary. */
export function operationName({ name }: OperationDefinitionNode): string | null {
  return name?.value.slice(0, 64) ?? null;
}

/** Emits an operation that has ended. */
export function emitOperation(
  { clock, events }: BulkOptions,
  running: Observation,
  { requestId, summary, viewer }: Pick<RequestRecord, 'requestId' | 'summary' | 'viewer'>,
): void {
  const { caller, codes, name, receipt, status, type } = running;
  // One that is refused before its execution has its class too: agents send many of those.
  const callerClass = shownClass(viewer?.callerClass);
  const cost = summary ?? receipt?.summary;
  const failed = codes.size > 0 || status >= 400;
  const answered = failed ? (running.hasData ? 'partial' : 'failed') : 'ok';
  const at = clock.now();
  const record: OperationRecord = {
    name,
    type,
    caller,
    callerClass,
    requestId,
    status,
    codes: [...codes],
    // Before its response was complete: afterwards it makes no difference.
    outcome: running.signal.aborted ? 'canceled' : answered,
    durationMs: at - running.startedAt,
    calls: cost?.calls ?? 0,
    saved: cost ? cost.saved.cache + cost.saved.coalesced : 0,
    waitedMs: cost?.waitedMs ?? 0,
    stale: cost?.stale ?? 0,
    maxAgeMs: cost?.maxAgeMs ?? 0,
  };
  events.emit('operationEnded', { at, operation: receipt, record });
  if (record.saved === 0 || caller === null || !receipt) return;
  const kinds = receipt.savedKinds;
  events.emit('saved', { caller, callerClass, operation: name, kinds, times: 1 });
}

/** Observes every operation, and emits those with incremental responses when the last part is there. */
export function useObservation(options: BulkOptions): GatewayPlugin {
  const { clock, events } = options;
  return {
    onRequest({ request, serverContext: { record } }) {
      // A preflight is not an operation.
      if (request.method !== 'OPTIONS') record.observation = newObservation(request.signal, clock);
    },
    onExecute({ args, executeFn, setExecuteFn }) {
      const { receipt, record, req, request, viewer } = args.contextValue;
      const running = record.observation;
      if (!running) return undefined;
      const operation = getOperationAST(args.document as DocumentNode, args.operationName);
      // The schema has no subscriptions, and any other word would create a metric series.
      running.type = operation?.operation ?? 'unknown';
      running.name = operation ? operationName(operation) : null;
      running.caller = viewer.name;
      const callerClass = shownClass(viewer.callerClass);
      running.receipt = receipt;
      receipt.asker = { requestId: record.requestId, operation: running.name, callerClass };
      const { within } = events;
      if (within) {
        const header = (name: string): string | null => request.headers.get(name);
        const origin = { header, request: req };
        events.emit('operationBegan', { operation: receipt, type: running.type, origin });
        setExecuteFn((input) => within(receipt, () => executeFn(input) as unknown));
      }
      return {
        onExecuteDone({ result }) {
          if (!(Symbol.asyncIterator in result)) return undefined;
          running.streams = true;
          return {
            onNext: ({ result: part }) => noteResult(running, part),
            onEnd: () => emitOperation(options, running, record),
          };
        },
      };
    },
    onResultProcess({ result, serverContext }) {
      const running = serverContext.record.observation;
      if (!running || Symbol.asyncIterator in result) return;
      for (const each of Array.isArray(result) ? result : [result]) noteResult(running, each);
    },
  };
}

/** Emits every other operation once, when its response is complete, including failed ones. */
export function useEmission(options: BulkOptions): GatewayPlugin {
  return {
    onResponse({ response, serverContext: { record, res } }) {
      const running = record.observation;
      if (!running) return;
      running.status = response.status;
      // A response that goes out over a socket has it by now.
      if (!res) response.headers.set('X-Request-Id', record.requestId);
      if (!running.streams) emitOperation(options, running, record);
    },
  };
}

/** A response, or a part of an incremental one. */
interface Noted {
  readonly data?: unknown;
  readonly items?: unknown;
  readonly errors?: readonly Pick<GraphQLFormattedError, 'extensions'>[] | undefined;
  readonly incremental?: readonly Noted[];
  readonly completed?: readonly Noted[];
}

/** Takes note of the errors of a result, or of a part of one. */
export function noteResult(running: Observation, result: Noted): void {
  const { data, items, errors = [], incremental = [], completed = [] } = result;
  running.hasData ||= (data ?? items ?? null) !== null;
  for (const { extensions } of errors) {
    const code = extensions?.['code'];
    if (code !== CANCELED) running.codes.add(typeof code === 'string' ? code : 'NONE');
  }
  for (const each of incremental) noteResult(running, each);
  for (const each of completed) noteResult(running, each);
}
