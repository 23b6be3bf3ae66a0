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
import type { Observer, OperationRecord } from './observer.ts';

/** The span of one operation. */
export interface OperationTrace {
  /** Runs the operation as the parent of whatever it starts. */
  run<T>(work: () => T): T;
  end(record: OperationRecord): void;
}

/** Spans for operations and upstream requests, for the SDK that the process was started with. */
export interface Tracing extends Observer {
  /**
   * `operation` is the key that `UpstreamRequest.operation` repeats. Of the caller's `headers`, only
   * the trace context is read, and only when the process has no active span already.
   */
  start(operation: object, type: string, headers: Headers): OperationTrace;
}

/** Makes spans by the API only: without an SDK they are empty and cost next to nothing. */
export function createTracing(): Tracing {
  const tracer = trace.getTracer('links-market-gateway');
  const contexts = new WeakMap<object, Context>();
  return {
    start(operation, type, headers) {
      const active = context.active();
      const parent = trace.getSpan(active) ? active : propagation.extract(active, headers, getter);
      const name = type === 'upload' ? type : `graphql ${type}`;
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
      const inside = trace.setSpan(parent, span);
      contexts.set(operation, inside);
      return {
        run: (work) => context.with(inside, work),
        end: (record) => finish(span, record),
      };
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

function finish(span: Span, record: OperationRecord): void {
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
  span.end();
}

const getter = {
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
  // Propagators read these two; other headers, such as credentials, stay invisible to them.
  keys: () => ['traceparent', 'tracestate'],
};
