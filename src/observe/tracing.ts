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
import type { Clock } from '../scheduling/clock.ts';
import type { EventReader, EventStream } from './event-stream.ts';
import type { OperationRecord, TraceOrigin } from './events.ts';

/**
 * Spans for operations and upstream requests, for the SDK that the process was started with: by the API only, since whether
 * one is recorded is up to the SDK's sampler.
 */
export interface Tracing {
  readonly reader: EventReader;
  /** Makes the span of an operation or a request the parent of all that `work` starts. */
  readonly within: NonNullable<EventStream['within']>;
}

/** Creates spans for events. */
export function createTracing(clock: Clock): Tracing {
  const tracer = trace.getTracer('links-market-gateway');
  /** The context in which a request has arrived: what follows can run in that of another. */
  const arrivals = new WeakMap<object, Context>();
  /** By the object of the operation, or of the upstream request. */
  const begun = new WeakMap<object, { readonly span: Span; readonly inside: Context }>();
  const begin = (of: object, span: Span, parent: Context): void => {
    begun.set(of, { span, inside: trace.setSpan(parent, span) });
  };
  /** The span of the request; if there is none, the one in the caller's headers. */
  const parentOf = (origin: TraceOrigin): Context => {
    const { request } = origin;
    const active = request ? (arrivals.get(request) ?? ROOT_CONTEXT) : context.active();
    return trace.getSpan(active) ? active : propagation.extract(active, origin, getter);
  };
  const reader: EventReader = {
    arrived(request) {
      const active = context.active();
      if (active !== ROOT_CONTEXT) arrivals.set(request, active);
    },
    operationBegan({ operation, origin, type }) {
      const parent = parentOf(origin);
      const span = tracer.startSpan(nameOf(type), { kind: SpanKind.SERVER }, parent);
      begin(operation, span, parent);
    },
    operationEnded({ operation, record }) {
      const known = operation && begun.get(operation);
      if (known) finish(known.span, record);
    },
    // Just now: its span begins and ends here.
    answered({ record, request }) {
      const endTime = clock.wall();
      const options = { kind: SpanKind.SERVER, startTime: endTime - record.durationMs };
      const header = (name: string): string | undefined => request.headers[name] as string;
      const parent = parentOf({ header, request });
      finish(tracer.startSpan(nameOf(record.type), options, parent), record, endTime);
    },
    requestSent(request) {
      const { method, operation, resource, upstream } = request;
      // Not the active context: a queued request is sent from wherever a slot became free.
      const parent = (operation && begun.get(operation)?.inside) ?? ROOT_CONTEXT;
      const attributes = {
        'gateway.upstream': upstream,
        'gateway.resource': resource,
        'http.request.method': method,
      };
      const name = `${upstream} ${method} ${resource}`;
      begin(request, tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent), parent);
    },
    requestEnded({ outcome: { code }, request }) {
      const span = begun.get(request)?.span;
      span?.setAttribute('gateway.outcome', code);
      if (code !== 'OK') span?.setStatus({ code: SpanStatusCode.ERROR, message: code });
      span?.end();
    },
  };
  return {
    reader,
    within(of, work) {
      const known = begun.get(of);
      return known ? context.with(known.inside, work) : work();
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
