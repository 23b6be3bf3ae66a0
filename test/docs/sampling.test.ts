import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConsoleState } from '../../src/console/console-state.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';

const exporter = new InMemorySpanExporter();
/** What decides where the caller has not. */
let root: Sampler = new AlwaysOnSampler();
const provider = new NodeTracerProvider({
  sampler: new ParentBasedSampler({
    root: { shouldSample: (...asked) => root.shouldSample(...asked), toString: () => 'root' },
  }),
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});

let busy: BusyGateway;
beforeAll(async () => {
  provider.register();
  busy = await busyGateway({ metrics: 'open', LOG_LEVEL: 'info', 'ttl.account': '600000' });
});
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
  propagation.disable();
  // Else every gateway that this process makes from now on believes that it is traced.
  Reflect.deleteProperty(globalThis, Symbol.for('opentelemetry.js.api.1'));
});
afterEach(() => {
  exporter.reset();
  root = new AlwaysOnSampler();
});

const operations = (): ReadableSpan[] =>
  exporter.getFinishedSpans().filter(({ name }) => name.startsWith('graphql'));

/** All that a span says but its ids and times. */
function visible(span: ReadableSpan | undefined): object {
  const { attributes, events, kind, links, name, status } = span ?? {};
  return { attributes, events, kind, links, name, status };
}

/** How many operations the fast path has answered. */
async function answeredInFront(): Promise<number> {
  const metrics = await (await fetch(`${busy.url}/metrics`)).text();
  return Number(/^gateway_remembered_answers_total (\d+)$/m.exec(metrics)?.[1]);
}

/** On the whole way, whatever is remembered. */
const whole = { 'content-encoding': 'identity' };

describe('an operation that the fast path answers', () => {
  const query = fc
    .record({
      name: fc.option(fc.constantFrom('A', 'Dashboard', 'N'.repeat(70)), { nil: '' }),
      fields: fc.subarray(['account { username }', '__typename'], { minLength: 1 }),
      spaces: fc.nat({ max: 3 }),
    })
    .map(({ fields, name, spaces }) => `query ${name} {${' '.repeat(spaces)}${fields.join(' ')} }`);

  it('leaves the span that it leaves on the whole path', async () => {
    await busy.ask('{ account { username } }');
    let count = 0;
    const before = await answeredInFront();
    await fc.assert(
      fc.asyncProperty(query, fc.boolean(), async (text, inTrace) => {
        const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
        const headers = { 'x-request-id': 'same', ...(inTrace ? { traceparent } : {}) };
        exporter.reset();
        await busy.ask(text, { headers: { ...headers, ...whole } });
        await busy.ask(text, { headers });
        await busy.ask(text, { headers });
        await busy.ask(text, { headers });
        count += 1;
        const [expected, ...spans] = operations();
        expect(spans).toHaveLength(3);
        for (const span of spans) {
          expect(visible(span)).toEqual(visible(expected));
          expect(span.parentSpanContext?.spanId).toBe(expected?.parentSpanContext?.spanId);
          expect(span.duration[0]).toBeGreaterThanOrEqual(0);
          expect(span.duration[0]).toBeLessThan(60);
        }
      }),
      { numRuns: 20 },
    );
    expect((await answeredInFront()) - before).toBeGreaterThanOrEqual(count);
  });

  it('is recorded as its caller says, else as the sampler says', async () => {
    const text = '{ account { username } } # sampled';
    for (let count = 0; count < 3; count += 1) await busy.ask(text);
    const before = await answeredInFront();
    const ask = async (flags: string | null): Promise<number> => {
      exporter.reset();
      const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-${flags}`;
      await busy.ask(text, { headers: flags === null ? {} : { traceparent } });
      return operations().length;
    };
    expect([await ask('01'), await ask('00'), await ask(null)]).toEqual([1, 0, 1]);
    root = new AlwaysOffSampler();
    expect([await ask('01'), await ask('00'), await ask(null)]).toEqual([1, 0, 0]);
    expect((await answeredInFront()) - before).toBe(6);
  });
});

describe('requests that arrive together', () => {
  it.each([{}, whole])(
    'each belong to the span that the server has begun for them, with the headers %j',
    async (headers) => {
      const text = '{ account { username } } # together';
      for (let count = 0; count < 3; count += 1) await busy.ask(text);
      exporter.reset();
      // As an instrumentation of Node's server does.
      // oxlint-disable-next-line typescript/unbound-method
      const { emit } = Server.prototype;
      const emitAny: (this: Server, event: string, ...args: unknown[]) => boolean = emit;
      Server.prototype.emit = function emitInSpan(this: Server, event: string, ...args: unknown[]) {
        if (event !== 'request') return emitAny.call(this, event, ...args);
        const [request, response] = args as [IncomingMessage, ServerResponse];
        const attributes = { id: String(request.headers['x-request-id']) };
        const span = trace.getTracer('http').startSpan('HTTP', { attributes });
        response.on('finish', () => span.end());
        return context.with(trace.setSpan(ROOT_CONTEXT, span), () =>
          emitAny.call(this, event, ...args),
        );
      } as typeof emit;
      try {
        const ids = Array.from({ length: 50 }, (_, count) => `request-${count}`);
        await Promise.all(
          ids.map((id) => busy.ask(text, { headers: { 'x-request-id': id, ...headers } })),
        );
      } finally {
        Server.prototype.emit = emit;
      }
      expect(operations()).toHaveLength(50);
      for (const { attributes, parentSpanContext } of operations()) {
        const parent = exporter
          .getFinishedSpans()
          .find((span) => span.spanContext().spanId === parentSpanContext?.spanId);
        expect(parent?.attributes['id']).toBe(attributes['gateway.request_id']);
      }
    },
  );
});

describe('what is counted', () => {
  it('is what was asked: in lines, metrics, spans, and by name on the console', async () => {
    const text = 'query Counted { account { username } }';
    await busy.ask(text);
    const lines = busy.lines().length;
    const total = async (): Promise<number> => {
      const metrics = await (await fetch(`${busy.url}/metrics`)).text();
      const count = /^gateway_operations_total\{type="query",outcome="ok"\} (\d+)$/m.exec(metrics);
      return Number(count?.[1]);
    };
    const byName = async (): Promise<{ runs: number; saved: number }> => {
      const response = await fetch(`${busy.url}/console.json`);
      const { operations } = (await response.json()) as ConsoleState;
      const { runs = 0, saved = 0 } = operations.find(({ name }) => name === 'Counted') ?? {};
      return { runs, saved };
    };
    const before = await total();
    const named = await byName();
    exporter.reset();
    for (let count = 0; count < 10; count += 1) {
      await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          busy.ask(n === 0 ? `${text} # ${count}` : text, n === 1 ? { headers: whole } : {}),
        ),
      );
    }
    expect((await total()) - before).toBe(100);
    // Each reads the account from the cache. The console shows the same state for some 200 ms.
    await expect.poll(byName).toEqual({ runs: named.runs + 100, saved: named.saved + 100 });
    expect(busy.lines().length - lines).toBe(100);
    expect(operations()).toHaveLength(100);
  });
});
