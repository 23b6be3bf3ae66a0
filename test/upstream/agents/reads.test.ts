import { describe, expect, test } from 'vitest';
import { EventStream } from '../../../src/observe/event-stream.ts';
import type { EventRows } from '../../../src/observe/events.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import { Errand, enqueue } from '../../support/errands.ts';
import { classesOf } from '../budget/world.ts';
import { clientWorld, read } from '../client-world.ts';

const MINUTE_MS = 60_000;

/** A client with a class that takes only slots that others leave. */
async function createWorld(maxCallsPerMinute: number | null = null) {
  const events = new EventStream();
  const sent: EventRows['requestSent'][] = [];
  events.add({ requestSent: (request) => sent.push(request) });
  const classes = classesOf({ agent: { weight: 0, maxCallsPerMinute } });
  const { caller, ...world } = await clientWorld(() => ({ events, classes }));
  const credential = { partition: 'p', secret: 'secret' };
  const person = (more: Partial<Access['caller']> = {}): Access => ({
    caller: caller({ maxWaitMs: 10_000, name: 'mia', ...more }),
    credential,
  });
  const agent = (more: Partial<Access['caller']> = {}): Access =>
    person({ name: 'bot', callerClass: 'agent', ...more });
  const job = (): Access => person({ name: 'jo', bulk: { acceptsFrom: world.clock.now() } });
  /** Reads of people until this many slots are taken. */
  const exhaust = async (count: number) => {
    await world.reader.read(read('first'), person());
    const paths = Array.from({ length: count - 1 }, (_, n) => `filler ${n}`);
    await Promise.all(paths.map((path) => world.reader.read(read(path), person())));
  };
  const budget = () => [...world.client.budgets][0];
  const queued = () => [budget()?.queued.interactive, budget()?.queued.bulk];
  return { ...world, agent, budget, exhaust, job, person, queued, sent };
}

/** The milliseconds after which an error says to retry. */
function retryOf(error: Record<string, unknown>): number {
  const { retryAfterMs } = error['details'] as { readonly retryAfterMs: number };
  return retryAfterMs;
}

/** The error of a read. */
const errorOf = (reading: unknown): Promise<Record<string, unknown>> =>
  Promise.resolve(reading).then(
    () => expect.fail('there is a response'),
    (error: unknown) => error as Record<string, unknown>,
  );

describe('A read of a class without weight', () => {
  test('leaves when it has waited long enough, because others came', async () => {
    const { agent, budget, clock, exhaust, queued, reader } = await createWorld();
    await reader.read(read('first'), agent());
    await exhaust(28);
    const reading = errorOf(reader.read(read('a'), agent({ maxWaitMs: 31_000 })));
    await clock.advance(0);
    expect(queued()).toEqual([0, 1]);
    // Writes go before it, also when its minimum rate gives it a turn.
    const own = budget() ?? expect.fail('there is no budget');
    for (let n = 0; n < 60; n += 1) {
      enqueue(own, new Errand({ clock, log: [] }, { lane: 'write', caller: 'mia' }));
    }
    await clock.advance(30_999);
    expect(queued()).toEqual([0, 1]);
    await clock.advance(1);
    const error = await reading;
    expect(error).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(retryOf(error)).toBeGreaterThan(29_000);
  });

  test('does not move the read of a person that it waits for too, and leaves with it if it is impatient', async () => {
    const { agent, clock, exhaust, person, queued, reader } = await createWorld();
    await exhaust(30);
    const stop = new AbortController();
    const leaves = person({ maxWaitMs: 2 * MINUTE_MS, signal: stop.signal });
    const reading = errorOf(reader.read(read('a'), leaves));
    const impatient = errorOf(reader.read(read('a'), agent()));
    expect(await impatient).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(queued()).toEqual([1, 0]);
    const joined = reader.read(read('a'), agent({ maxWaitMs: 2 * MINUTE_MS }));
    await clock.advance(0);
    expect(queued()).toEqual([1, 0]);
    stop.abort(new Error('stopped'));
    await reading;
    expect(queued()).toEqual([0, 1]);
    await clock.advance(2 * MINUTE_MS);
    await joined;
  });

  test('leaves when the person has left, whose turn was sooner', async () => {
    const { agent, clock, exhaust, person, queued, reader } = await createWorld();
    await exhaust(29);
    await clock.advance(55_000);
    await reader.read(read('due'), agent());
    const stop = new AbortController();
    const reading = errorOf(reader.read(read('a'), person({ signal: stop.signal })));
    await clock.advance(0);
    const joined = errorOf(reader.read(read('a'), agent({ maxWaitMs: 6000 })));
    await clock.advance(0);
    expect(queued()).toEqual([1, 0]);
    stop.abort(new Error('stopped'));
    await reading;
    expect(await joined).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(queued()).toEqual([0, 0]);
  });

  test('is charged to a job that waits for it longer', async () => {
    const { agent, budget, clock, exhaust, job, queued, reader, sent } = await createWorld();
    await exhaust(30);
    const stop = new AbortController();
    const access = agent({ maxWaitMs: 2 * MINUTE_MS, signal: stop.signal });
    const reading = errorOf(reader.read(read('a'), access));
    const joined = reader.read(read('a'), job());
    await clock.advance(0);
    expect(budget()?.shown.waitingCallers).toMatchObject([{ caller: 'bot', callerClass: 'agent' }]);
    stop.abort(new Error('stopped'));
    await reading;
    expect(queued()).toEqual([0, 1]);
    expect(budget()?.shown.waitingCallers).toEqual([]);
    await clock.advance(2 * MINUTE_MS);
    await joined;
    expect(sent.at(-1)).toMatchObject({ caller: 'jo', callerClass: 'default' });
  });

  test('does not keep a job waiting when its class has used up its limit', async () => {
    const { agent, clock, job, queued, reader } = await createWorld(1);
    await reader.read(read('a'), agent());
    const waits = reader.read(read('b'), agent({ maxWaitMs: 2 * MINUTE_MS }));
    await clock.advance(0);
    expect(queued()).toEqual([0, 1]);
    await reader.read(read('c'), job());
    await clock.advance(MINUTE_MS);
    await waits;
  });
});
