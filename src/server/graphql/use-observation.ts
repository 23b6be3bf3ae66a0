import { type DocumentNode, getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Clock } from '../../clock.ts';
import type { Observer, OperationRecord } from '../../observe/observer.ts';
import type { OperationTrace, Tracing } from '../../observe/tracing.ts';
import type { Receipt } from '../../upstream/receipt.ts';
import { requestIdOf } from '../door/request-id.ts';

/** What is known of an operation while it runs. */
interface Running {
  readonly requestId: string;
  readonly startedAt: number;
  name: string | null;
  type: OperationRecord['type'];
  caller: string | null;
  receipt: Receipt | null;
  trace: OperationTrace | null;
  readonly codes: Set<string>;
  hasData: boolean;
  /** Parts of its answer follow after the response's head. */
  streams: boolean;
  status: number;
}

/** Tells of every operation once, when its answer is complete, whatever became of it. */
export function useObservation(options: {
  readonly clock: Clock;
  readonly observer: Observer;
  readonly tracing: Tracing;
}): Plugin {
  const { clock, observer, tracing } = options;
  const all = new WeakMap<Request, Running>();

  const finish = (running: Running): void => {
    const { name, type, caller, codes, requestId, status } = running;
    const summary = running.receipt?.summary;
    const failed = codes.size > 0 || status >= 400;
    const record: OperationRecord = {
      name,
      type,
      caller,
      requestId,
      status,
      codes: [...codes],
      outcome: failed ? (running.hasData ? 'partial' : 'failed') : 'ok',
      durationMs: clock.now() - running.startedAt,
      calls: summary?.calls ?? 0,
      waitedMs: summary?.waitedMs ?? 0,
      stale: summary?.stale ?? 0,
    };
    running.trace?.end(record);
    observer.operation?.(record);
  };

  return {
    onRequest({ request }) {
      // A browser's question whether it may ask is no operation.
      if (request.method === 'OPTIONS') return;
      all.set(request, {
        requestId: requestIdOf(request.headers.get('x-request-id')),
        startedAt: clock.now(),
        name: null,
        type: 'unknown',
        caller: null,
        receipt: null,
        trace: null,
        codes: new Set(),
        hasData: false,
        streams: false,
        status: 0,
      });
    },
    onExecute({ args, executeFn, setExecuteFn }) {
      const context = args.contextValue as unknown as Executing;
      const running = all.get(context.request);
      if (!running) return undefined;
      const operation = getOperationAST(args.document as DocumentNode, args.operationName);
      // The schema has no subscriptions, and any other word would be a series of its own.
      running.type = operation?.operation ?? 'unknown';
      running.name = operation?.name?.value.slice(0, 64) ?? null;
      running.caller = context.viewer.name;
      running.receipt = context.receipt;
      const trace = tracing.start(context.receipt, running.type, context.request.headers);
      running.trace = trace;
      setExecuteFn((input) => trace.run(() => executeFn(input) as unknown));
      return {
        onExecuteDone({ result }) {
          if (!(Symbol.asyncIterator in result)) return undefined;
          running.streams = true;
          return {
            onNext: ({ result: part }) => note(running, part),
            onEnd: () => finish(running),
          };
        },
      };
    },
    onResultProcess({ request, result }) {
      const running = all.get(request);
      if (!running || Symbol.asyncIterator in result) return;
      for (const each of Array.isArray(result) ? result : [result]) note(running, each);
    },
    onResponse({ request, response }) {
      const running = all.get(request);
      if (!running) return;
      running.status = response.status;
      if (!response.headers.has('x-request-id')) {
        response.headers.set('x-request-id', running.requestId);
      }
      if (!running.streams) finish(running);
    },
  };
}

/** What the context of an operation holds that is told. */
interface Executing {
  readonly request: Request;
  readonly receipt: Receipt;
  readonly viewer: { readonly name: string };
}

function note(running: Running, result: object): void {
  const { data, errors } = result as {
    readonly data?: unknown;
    readonly errors?: readonly { readonly extensions?: { readonly code?: unknown } }[];
  };
  if (data !== undefined && data !== null) running.hasData = true;
  for (const { extensions } of errors ?? []) {
    running.codes.add(typeof extensions?.code === 'string' ? extensions.code : 'NONE');
  }
}
