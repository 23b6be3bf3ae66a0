import * as fc from 'fast-check';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { EventStream } from '../../src/observe/event-stream.ts';
import type { OperationRecord } from '../../src/observe/events.ts';
import { createLog } from '../../src/observe/log/logger.ts';
import { createScrub } from '../../src/observe/log/scrub.ts';
import { type Clock, systemClock } from '../../src/scheduling/clock.ts';
import { anyText } from '../support/any-text.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let busy: BusyGateway;
beforeAll(async () => {
  busy = await busyGateway({ LOG_LEVEL: 'debug', 'ttl.account': '600000' });
});

/** The lines of one message that were written after `from` others. */
async function linesAfter(message: string, action: () => Promise<unknown>) {
  const from = busy.lines().length;
  await action();
  return busy
    .lines()
    .slice(from)
    .filter(({ msg }) => msg === message);
}

/** What a log writes. */
function written(emit: (events: EventStream) => void, clock: Clock = systemClock): string {
  let text = '';
  const stream = { write: (line: string) => void (text += line) };
  const scrub = createScrub(['k3y-of-the-account']);
  const events = new EventStream();
  events.add(createLog({ level: 'info', stream, scrub, clock }));
  emit(events);
  return text;
}

describe('an operation', () => {
  it('leaves one line: its name, type, caller, status, duration and receipt', async () => {
    const [line, ...more] = await linesAfter('operation', () =>
      busy.ask('query Dashboard { account { username } seller { username } }'),
    );
    expect(more).toEqual([]);
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      msg: 'operation',
      requestId: expect.any(String),
      operation: 'Dashboard',
      type: 'query',
      caller: '127.0.0.1',
      status: 200,
      outcome: 'ok',
      durationMs: expect.any(Number),
      upstream: { calls: 2, waitedMs: expect.any(Number), stale: 0 },
    });
  });

  it('that was refused leaves a line with its codes', async () => {
    const headers = { accept: 'application/graphql-response+json' };
    const lines = await linesAfter('operation', () => busy.ask('{ nothingOfThis }', { headers }));
    expect(lines).toMatchObject([
      { outcome: 'failed', type: 'unknown', codes: ['GRAPHQL_VALIDATION_FAILED'], status: 400 },
    ]);
  });

  it('that failed in part is distinguished from one that failed completely', async () => {
    busy.sandbox.links.fault({ kind: 'error-500', times: 1 });
    const lines = await linesAfter('operation', () =>
      busy.ask('{ account { username } pixels(first: 1) { totalCount } }'),
    );
    expect(lines).toMatchObject([{ outcome: 'partial', codes: ['UPSTREAM_UNAVAILABLE'] }]);
  });

  it('whose parts are deferred leaves its line when the last part is there', async () => {
    const lines = await linesAfter('operation', async () => {
      const response = await fetch(`${busy.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'multipart/mixed' },
        body: JSON.stringify({
          query:
            'query Late { account { username } ... @defer { qrCodes(first: 1) { totalCount } } }',
        }),
      });
      expect(await response.text()).toContain('"hasNext":false');
    });
    expect(lines).toMatchObject([{ operation: 'Late', outcome: 'ok', upstream: { calls: 1 } }]);
  });
});

describe('the line of an operation', () => {
  const clock = new VirtualClock();
  const outcome = fc.constantFrom('ok', 'partial', 'failed', 'canceled');
  const type = fc.constantFrom('query', 'mutation', 'subscription', 'upload', 'unknown');
  const text = anyText(80);
  const record: fc.Arbitrary<OperationRecord> = fc.record({
    requestId: text,
    name: fc.option(text),
    type,
    caller: fc.option(text.filter(({ length }) => length <= 64)),
    callerClass: fc.option(fc.constantFrom('agent', 'night-ly2'), { nil: undefined }),
    status: fc.nat(),
    codes: fc.array(fc.constantFrom('FORBIDDEN', 'BAD_USER_INPUT'), { maxLength: 2 }),
    outcome,
    durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
    calls: fc.nat(),
    waitedMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
    saved: fc.nat(),
    stale: fc.nat(),
    maxAgeMs: fc.nat(),
  });

  const emitting = (each: OperationRecord) => (events: EventStream) =>
    events.emit('operationEnded', { at: 0, operation: null, record: each });

  it('is the one that the library would write', () => {
    fc.assert(
      fc.property(record, fc.nat({ max: 100_000 }), (each, ms) => {
        void clock.advance(ms);
        const ours = written(emitting(each), clock);
        let theirs = '';
        pino(
          {
            base: null,
            timestamp: () => `,"time":"${new Date(clock.wall()).toISOString()}"`,
            formatters: { level: (label) => ({ level: label }) },
          },
          { write: (line: string) => void (theirs += line) },
        ).info(
          {
            requestId: each.requestId,
            operation: each.name,
            type: each.type,
            caller: each.caller,
            callerClass: each.callerClass,
            status: each.status,
            outcome: each.outcome,
            ...(each.codes.length > 0 ? { codes: each.codes } : {}),
            durationMs: Math.round(each.durationMs),
            upstream: { calls: each.calls, waitedMs: each.waitedMs, stale: each.stale },
          },
          'operation',
        );
        expect(ours).toBe(theirs);
      }),
    );
  });

  it('shortens the name of a caller', () => {
    const [each] = fc.sample(record, 1) as [OperationRecord];
    const text = written(emitting({ ...each, caller: 'c'.repeat(65) }), clock);
    expect(JSON.parse(text)).toHaveProperty('caller', `${'c'.repeat(63)}…`);
  });
});

describe('a request id', () => {
  it('of the client is kept, returned and logged', async () => {
    const [line] = await linesAfter('operation', async () => {
      const { headers } = await busy.ask('{ __typename }', {
        headers: { 'x-request-id': 'trace:42.a-b_c' },
      });
      expect(headers.get('x-request-id')).toBe('trace:42.a-b_c');
    });
    expect(line).toMatchObject({ requestId: 'trace:42.a-b_c' });
  });

  it.each(['', 'two words', 'x'.repeat(129), '<script>', '{"level":"error"}'])(
    'of %j is replaced by one of our own',
    async (given) => {
      const { headers } = await busy.ask('{ __typename }', { headers: { 'x-request-id': given } });
      expect(headers.get('x-request-id')).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
    },
  );

  it('is on every answer, whatever the path', async () => {
    for (const path of ['/livez', '/readyz', '/nothing', '/graphql']) {
      expect((await fetch(busy.url + path)).headers.get('x-request-id')).toBeTruthy();
    }
  });
});

describe('an upstream call', () => {
  it('that failed leaves a line with its cause', async () => {
    busy.sandbox.links.fault({ kind: 'html', status: 502, times: 1 });
    const lines = await linesAfter('upstream failed', () =>
      busy.ask('{ domains(first: 1) { totalCount } }'),
    );
    expect(lines).toMatchObject([
      {
        level: 'warn',
        upstream: 'LINKS',
        method: 'GET',
        resource: 'domains',
        code: 'UPSTREAM_UNAVAILABLE',
        cause: ['HTTP 502 with HTML'],
        durationMs: expect.any(Number),
      },
    ]);
  });

  it('whose connection broke names the chain of causes', async () => {
    busy.sandbox.market.fault({ kind: 'drop' });
    const [line] = await linesAfter('upstream failed', () =>
      busy.ask('{ items(first: 1) { totalCount } }'),
    );
    busy.sandbox.market.clearFaults();
    expect(line).toMatchObject({
      upstream: 'MARKET',
      cause: ['WireError: no response (lost)', expect.stringMatching(/UND_ERR_SOCKET|ECONNRESET/)],
    });
  });

  it('that succeeded leaves a line only for who debugs', async () => {
    const lines = await linesAfter('upstream request', () =>
      busy.ask('{ splashPages(first: 1) { totalCount } }'),
    );
    expect(lines).toMatchObject([{ level: 'debug', resource: 'splashPages', code: 'OK' }]);
  });
});

describe('a text that is not ours', () => {
  const failure = new Error('https://links.example/api?api_key=k3y-of-the-account refused', {
    cause: new Error('Bearer k3y-of-the-account'),
  });

  it('is scrubbed in the cause of an upstream failure, however deep', () => {
    const text = written((events) => {
      const request = {
        sentAt: 0,
        upstream: 'LINKS',
        method: 'GET',
        resource: 'x',
        operation: {},
        asker: null,
        caller: null,
        callerClass: null,
        lane: 'refresh',
        renews: true,
      } as const;
      const outcome = { code: 'UPSTREAM_UNAVAILABLE', cause: failure, durationMs: 1 } as const;
      events.emit('requestEnded', { at: 1, request, outcome });
    });
    expect(text).toContain('Error: https://links.example/api refused');
    expect(text).toContain('Bearer [secret]');
    expect(text).not.toContain('k3y');
  });

  it('is scrubbed in an unexpected error, whose stack is kept', () => {
    const text = written((events) => events.emit('defect', { error: failure }));
    expect(text).toMatch(/"stack":\["at /);
    expect(text).toContain('Error: https://links.example/api refused');
    expect(text).not.toContain('k3y');
  });

  it('is short in an unexpected error whose message has many lines like those of a stack', () => {
    const long = new Error('    at a line\n'.repeat(50_000));
    const text = written((events) => events.emit('defect', { error: long }));
    expect(text.length).toBeLessThan(20_000);
  });

  it('is scrubbed in a complaint', () => {
    const sentence = 'cannot read k3y-of-the-account';
    expect(written((events) => events.emit('complaint', { sentence }))).toContain('[secret]');
  });
});

describe('a warning or an error', () => {
  it('is written at once, and any other line with those that follow', () => {
    const calls: [string, string][] = [];
    const stream = {
      write: (line: string) => calls.push(['later', JSON.parse(line).msg]),
      writeNow: (line: string) => calls.push(['now', JSON.parse(line).msg]),
    };
    const scrub = createScrub([]);
    const events = new EventStream();
    events.add(createLog({ level: 'info', stream, scrub, clock: systemClock }));
    events.emit('notice', { message: 'started' });
    events.emit('complaint', { sentence: 'mend this' });
    events.emit('notice', { message: 'stopping' });
    events.emit('defect', { error: new Error('a defect') });
    events.emit('notice', { message: 'stopped' });
    expect(calls).toEqual([
      ['later', 'started'],
      ['now', 'mend this'],
      ['later', 'stopping'],
      ['now', 'unexpected error'],
      ['later', 'stopped'],
    ]);
  });
});

it('Keys that are removed because the store is full leave a line every ten minutes', async () => {
  const clock = new VirtualClock();
  const stream: string[] = [];
  const events = new EventStream();
  const write = (line: string) => void stream.push(line);
  events.add(createLog({ level: 'info', stream: { write }, scrub: createScrub([]), clock }));
  for (let minute = 0; minute < 15; minute += 1) {
    events.emit('keysForgotten', { count: 1 });
    await clock.advance(60_000);
  }
  const counts = [...stream.join('').matchAll(/"level":"warn".*"count":(\d+)/g)];
  expect(counts.map(([, count]) => count)).toEqual(['1', '10']);
});

describe('LOG_LEVEL', () => {
  it.each([
    ['info', ['operation', 'upstream failed']],
    ['warn', ['upstream failed']],
    ['error', []],
    ['silent', []],
  ])('%s writes the lines of its level and above', async (level, expected) => {
    const quiet = await busyGateway({ LOG_LEVEL: level });
    quiet.sandbox.links.fault({ kind: 'error-500' });
    await quiet.ask('{ account { username } }');
    await quiet.close();
    expect(new Set(quiet.lines().map(({ msg }) => msg))).toEqual(new Set(expected));
  });
});
