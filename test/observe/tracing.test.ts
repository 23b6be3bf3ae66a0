import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  TraceFlags,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';

/** A span as a backend would show it. */
interface Recorded {
  readonly name: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly trace: string;
  readonly attributes: Attributes;
  ended: boolean;
  error: boolean;
}

const spans: Recorded[] = [];

/** As much of an SDK as the API asks for. */
const provider: TracerProvider = {
  getTracer: () => ({
    startSpan(name: string, options: SpanOptions = {}, parent: Context = context.active()) {
      const above = trace.getSpanContext(parent);
      const id = String(spans.length + 1).padStart(16, '0');
      const record: Recorded = {
        name,
        id,
        parent: above?.spanId,
        trace: above?.traceId ?? id.repeat(2),
        attributes: { ...options.attributes },
        ended: false,
        error: false,
      };
      spans.push(record);
      const span = {
        spanContext: (): SpanContext => ({
          traceId: record.trace,
          spanId: id,
          traceFlags: TraceFlags.SAMPLED,
        }),
        setAttribute: (key: string, value: string) =>
          Object.assign(record.attributes, { [key]: value }),
        setAttributes: (all: Attributes) => Object.assign(record.attributes, all),
        setStatus: () => {
          record.error = true;
        },
        isRecording: () => true,
        end: () => {
          record.ended = true;
        },
      };
      return span as unknown as Span;
    },
    startActiveSpan: () => {
      throw new Error('the gateway does not use this');
    },
  }),
};

const storage = new AsyncLocalStorage<Context>();
const manager = {
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (to: Context, work: (...args: unknown[]) => unknown, self: unknown, ...args: unknown[]) =>
    storage.run(to, () => work.apply(self, args)),
  bind: (_: Context, target: unknown) => target,
  enable: () => manager,
  disable: () => manager,
} as unknown as ContextManager;

let busy: BusyGateway;
beforeAll(async () => {
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(manager);
  propagation.setGlobalPropagator({
    inject: () => undefined,
    extract: (to, carrier, getter) => {
      const [, traceId = '', spanId = ''] = String(getter.get(carrier, 'traceparent') ?? '').split(
        '-',
      );
      return traceId ? trace.setSpanContext(to, { traceId, spanId, traceFlags: 1 }) : to;
    },
    fields: () => ['traceparent'],
  });
  busy = await busyGateway();
});
afterAll(() => {
  trace.disable();
  context.disable();
  propagation.disable();
  // Else every gateway that this process makes from now on believes that it is traced.
  Reflect.deleteProperty(globalThis, Symbol.for('opentelemetry.js.api.1'));
});
afterEach(() => spans.splice(0));

const named = (pattern: RegExp): Recorded[] => spans.filter(({ name }) => pattern.test(name));

describe('a span', () => {
  it('of an operation holds its name, its receipt and no variable', async () => {
    await busy.ask('query Who($id: ID!) { account { username } node(id: $id) { id } }', {
      variables: { id: 'd29yZHM6c2VjcmV0' },
    });
    const [operation] = named(/^graphql/);
    expect(operation).toMatchObject({
      name: 'graphql query',
      ended: true,
      attributes: {
        'graphql.operation.name': 'Who',
        'graphql.operation.type': 'query',
        'gateway.calls': 1,
        'gateway.waited_ms': expect.any(Number),
        'gateway.stale': 0,
        'http.response.status_code': 200,
      },
    });
    expect(JSON.stringify(spans)).not.toContain('d29yZHM6c2VjcmV0');
  });

  it('of an upstream call is a child of the operation that it leaves for, also after a wait', async () => {
    // Everything but the first request of a window waits for its answer, and is sent by it.
    await Promise.all([
      busy.ask('query A { domains(first: 1) { totalCount } }'),
      busy.ask('query B { pixels(first: 1) { totalCount } }'),
      busy.ask('query C { campaigns(first: 1) { totalCount } }'),
    ]);
    const calls = named(/^LINKS GET/);
    expect(calls.map(({ name }) => name).sort()).toEqual([
      'LINKS GET campaigns',
      'LINKS GET domains',
      'LINKS GET pixels',
    ]);
    const parents = calls.map(({ name, parent }) => [
      name.split(' ')[2],
      spans.find(({ id }) => id === parent)?.attributes['graphql.operation.name'],
    ]);
    expect(Object.fromEntries(parents)).toEqual({ domains: 'A', pixels: 'B', campaigns: 'C' });
    expect(calls.every(({ ended }) => ended)).toBe(true);
  });

  it('of a failed request has its code', async () => {
    busy.sandbox.market.fault({ kind: 'error-500', times: 1 });
    await busy.ask('{ seller { username } }');
    expect(named(/^MARKET/)).toMatchObject([
      { error: true, attributes: { 'gateway.outcome': 'UPSTREAM_UNAVAILABLE' } },
    ]);
    expect(named(/^graphql/)).toMatchObject([
      { error: true, attributes: { 'gateway.codes': ['UPSTREAM_UNAVAILABLE'] } },
    ]);
  });

  it('goes on with the trace that the caller is in', async () => {
    await busy.ask('{ __typename }', {
      headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
    });
    expect(named(/^graphql/)).toMatchObject([{ trace: 'a'.repeat(32), parent: 'b'.repeat(16) }]);
  });
});
