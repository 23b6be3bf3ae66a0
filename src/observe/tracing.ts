import type { IncomingMessage } from 'node:http';
import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Clock } from '../clock.ts';
import type { Observer, OperationRecord } from './observer.ts';

/** The span of one operation. */
export interface OperationTrace {
  /** Runs the operation as the parent of whatever it starts. */
  run<T>(work: () => T): T;
  end(record: OperationRecord): void;
}

/** Where an operation came from, for the trace that its span belongs to. */
export interface TraceOrigin {
  /** Reads a header. Only those of the trace context are asked for. */
  readonly header: (name: string) => string | null | undefined;
  /** What Node gave; absent where the operation came without a socket. */
  readonly request: IncomingMessage | undefined;
}

/** Spans for operations and upstream requests, for the SDK that the process was started with. */
export interface Tracing extends Observer {
  /**
   * A request has arrived, in the span that an instrumentation of the server may have begun for it. What follows
   * can run in the context of another: bodies are read together, and work waits for its turn. `null` without an SDK.
   */
  readonly arrived: ((request: IncomingMessage) => void) | null;
  /**
   * `operation` is the key that `UpstreamRequest.operation` repeats. The parent is the span of the request; where
   * there is none, the one that the caller's headers name.
   */
  start(operation: object, type: OperationRecord['type'], origin: TraceOrigin): OperationTrace;
  /** An operation was answered on the fast path, just now: its span begins and ends here. */
  answered(record: OperationRecord, request: IncomingMessage): void;
}

/** Makes spans by the API only: whether one is recorded is up to the SDK's sampler. */
export function createTracing(clock: Clock): Tracing {
  const tracer = trace.getTracer('links-market-gateway');
  const contexts = new WeakMap<object, Context>();
  const parentOf = (origin: TraceOrigin): Context => {
    const { request } = origin;
    const active = request ? (contexts.get(request) ?? ROOT_CONTEXT) : context.active();
    return trace.getSpan(active) ? active : propagation.extract(active, origin, getter);
  };
  return {
    arrived(request) {
      const active = context.active();
      if (active !== ROOT_CONTEXT) contexts.set(request, active);
    },
    start(operation, type, origin) {
      const parent = parentOf(origin);
      const span = tracer.startSpan(nameOf(type), { kind: SpanKind.SERVER }, parent);
      const inside = trace.setSpan(parent, span);
      contexts.set(operation, inside);
      return {
        run: (work) => context.with(inside, work),
        end: (record) => finish(span, record),
      };
    },
    answered(record, request) {
      const endTime = clock.wall();
      const options = { kind: SpanKind.SERVER, startTime: endTime - record.durationMs };
      const header = (name: string): string | undefined => request.headers[name] as string;
      const parent = parentOf({ header, request });
      finish(tracer.startSpan(nameOf(record.type), options, parent), record, endTime);
    },
    request({ upstream, method, resource, operation }) {
      // Not the active context: a queued request is sent from wherever a slot became free.
      const parent = (operation && contexts.get(operation)) ?? ROOT_CONTEXT;
      const span = tracer.startSpan(
        `${upstream} ${method} ${resource}`,
        {
          kind: SpanKind.CLIENT,
          attributes: {
            'gateway.upstream': upstream,
            'gateway.resource': resource,
            'http.request.method': method,
          },
        },
        parent,
      );
      const inside = trace.setSpan(parent, span);
      return {
        run: (work) => context.with(inside, work),
        end({ code }) {
          span.setAttribute('gateway.outcome', code);
          if (code !== 'OK') span.setStatus({ code: SpanStatusCode.ERROR, message: code });
          span.end();
        },
      };
    },
  };
}

function nameOf(type: OperationRecord['type']): string {
  return type === 'upload' ? type : `graphql ${type}`;
}

function finish(span: Span, record: OperationRecord, endTime?: number): void {
  if (span.isRecording()) {
    if (record.name) span.setAttribute('graphql.operation.name', record.name);
    span.setAttributes({
      'graphql.operation.type': record.type,
      'gateway.request_id': record.requestId,
      'gateway.outcome': record.outcome,
      'gateway.calls': record.calls,
      'gateway.waited_ms': record.waitedMs,
      'gateway.stale': record.stale,
      'http.response.status_code': record.status,
    });
    if (record.codes.length > 0) {
      span.setAttribute('gateway.codes', [...record.codes]);
      span.setStatus({ code: SpanStatusCode.ERROR, message: record.codes.join(' ') });
    }
  }
  span.end(endTime);
}

const getter = {
  get: ({ header }: TraceOrigin, name: string) => header(name) ?? undefined,
  // Propagators read these two; other headers, such as credentials, stay invisible to them.
  keys: () => ['traceparent', 'tracestate'],
};
