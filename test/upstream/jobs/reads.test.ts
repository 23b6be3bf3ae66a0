import { describe, expect, test } from 'vitest';
import { EventStream } from '../../../src/observe/event-stream.ts';
import type { EventRows } from '../../../src/observe/events.ts';
import type { ClientOptions } from '../../../src/upstream/client.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import type { Read } from '../../../src/upstream/request.ts';
import { clientWorld, read } from '../client-world.ts';

/** A client whose entries are fresh for a second, stale for another, and then fallbacks for ten. */
async function createWorld(options: Partial<ClientOptions> = {}) {
  const events = new EventStream();
  const sent: EventRows['requestSent'][] = [];
  events.add({ requestSent: (request) => sent.push(request) });
  const { caller, ...world } = await clientWorld(() => ({ events, ...options }));
  const credential = { partition: 'p', secret: 'secret' };
  const person = (more: Partial<Access['caller']> = {}): Access => ({
    caller: caller({ maxWaitMs: 10_000, ...more }),
    credential,
  });
  const job = (acceptsFrom: number, more: Partial<Access['caller']> = {}): Access =>
    person({ maxWaitMs: 0, bulk: { acceptsFrom }, ...more });
  /** Reads until a miss would wait for the next window. */
  const exhaust = async (count: number) => {
    await world.reader.read(read('first'), person());
    const paths = Array.from({ length: count - 1 }, (_, n) => `filler ${n}`);
    await Promise.all(paths.map((path) => world.reader.read(read(path), person())));
  };
  const count = () => world.upstream.log.length;
  return { ...world, count, exhaust, job, person, sent };
}

const tag = (path: string) => [`LINKS:p ${path}`];

describe('A job', () => {
  test.each([
    ['fresh', 500],
    ['stale', 1500],
    ['fallback', 5000],
  ])('accepts an entry that was requested in time: %s', async (_, ms) => {
    const { clock, count, job, person, reader } = await createWorld();
    const from = clock.now();
    const value = await reader.read(read('a'), person());
    await clock.advance(ms);
    const access = job(from);
    expect(reader.read(read('a'), access)).toEqual(value);
    await clock.advance(10);
    // It costs nothing, and does not lead to a refresh.
    expect(access.caller.receipt.summary).toMatchObject({ calls: 0, saved: { cache: 1 } });
    expect(count()).toBe(1);
  });

  test('accepts an older entry only within its ttl', async () => {
    const { clock, count, job, person, reader } = await createWorld();
    await reader.read(read('a'), person());
    await clock.advance(900);
    await reader.read(read('a'), job(clock.now()));
    expect(count()).toBe(1);
    await clock.advance(600);
    const access = job(clock.now());
    await reader.read(read('a'), access);
    expect(access.caller.receipt.summary).toMatchObject({ calls: 1, stale: 0 });
    expect(count()).toBe(2);
  });

  test.each(['touch', 'doubt'] as const)(
    'accepts no entry that a write can have changed: %s',
    async (kind) => {
      const { cache, clock, count, job, person, reader } = await createWorld();
      const from = clock.now();
      await reader.read(read('a'), person());
      cache[kind](tag('a'));
      await reader.read(read('a'), job(from));
      expect(count()).toBe(2);
    },
  );

  test('accepts no older entry where a fresh one is required, nor if the API fails', async () => {
    const { clock, count, job, person, reader, upstream } = await createWorld();
    const from = clock.now();
    await reader.read(read('a'), person());
    await clock.advance(1500);
    await reader.read({ ...read('a'), strict: true }, job(from));
    const page = {
      reload: true,
      lateTags: () => [],
      stamped: () => {},
      adopt: (is: unknown) => is,
    };
    await reader.read({ ...read('a'), page } as unknown as Read<unknown>, job(from));
    expect(count()).toBe(3);
    await clock.advance(1500);
    upstream.onRequest = (arrival) => arrival.answer({}, 500);
    await expect(reader.read(read('a'), job(clock.now()))).rejects.toThrow('is unavailable');
    // A person would get the entry.
    expect(await reader.read(read('a'), person())).toBeDefined();
  });

  test('sends as many requests for one operation as it needs, and waits for slots without limit', async () => {
    const short = { maxCallsPerOperation: 2, rateLimit: 5, rateWindowMs: 1000 };
    const { clock, count, job, reader } = await createWorld(short);
    const access = job(clock.now());
    const paths = Array.from({ length: 14 }, (_, n) => `${n}`);
    const all = Promise.all(paths.map((path) => reader.read(read(path), access)));
    for (let n = 0; n < 400 && count() < 14; n += 1) await clock.advance(50);
    expect(count()).toBe(14);
    await expect(all).resolves.toHaveLength(14);
    expect(access.caller.receipt.summary.calls).toBe(14);
    expect(access.caller.receipt.waitedMs).toBeGreaterThan(2000);
  });

  test('is charged by the name and the class of its caller', async () => {
    const { job, person, reader, sent } = await createWorld();
    await reader.read(read('a'), job(0, { name: 'mia', callerClass: 'people' }));
    await reader.readSecret(read('b'), job(0, { name: 'mia' }));
    await reader.read(read('c'), person({ name: 'mia', callerClass: 'people' }));
    expect(sent.map(({ caller, callerClass, lane }) => [caller, callerClass, lane])).toEqual([
      ['mia', 'people', 'bulk'],
      ['mia', 'default', 'bulk'],
      ['mia', 'people', 'interactive'],
    ]);
  });

  test('leaves the queue as soon as it is stopped', async () => {
    const { client, clock, exhaust, job, reader, upstream } = await createWorld();
    await exhaust(30);
    const stop = new AbortController();
    const reading = reader.read(read('a'), job(clock.now(), { signal: stop.signal }));
    const [budget] = [...client.budgets];
    await clock.advance(0);
    expect(budget?.queued.bulk).toBe(1);
    stop.abort(new Error('stopped'));
    expect(budget?.queued.bulk).toBe(0);
    await expect(reading).rejects.toThrow('stopped');
    await clock.advance(120_000);
    expect(upstream.log).toHaveLength(30);
  });

  test('is rejected when the process drains', async () => {
    const { client, clock, exhaust, job, reader } = await createWorld();
    await exhaust(30);
    const reading = reader.read(read('a'), job(clock.now()));
    await clock.advance(0);
    client.budgets.drain(600_000);
    await expect(reading).rejects.toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    await expect(reader.read(read('b'), job(clock.now()))).rejects.toMatchObject({
      code: 'BUDGET_EXHAUSTED',
    });
  });

  test('shares its read with a person, for whom it is sent at once', async () => {
    const { client, clock, count, exhaust, job, person, reader, sent } = await createWorld();
    await exhaust(28);
    const own = job(clock.now());
    await reader.read(read('before'), own);
    const reading = reader.read(read('a'), own);
    await clock.advance(0);
    const [budget] = [...client.budgets];
    // The last slot is left to people.
    expect(budget?.queued.bulk).toBe(1);
    const access = person({ name: 'mia' });
    const both = await Promise.all([reading, reader.read(read('a'), access)]);
    expect(both[0]).toEqual(both[1]);
    expect(count()).toBe(30);
    expect(sent.at(-1)).toMatchObject({
      caller: 'mia',
      callerClass: 'default',
      lane: 'interactive',
    });
  });

  test.each([
    ['hangs up', 90_000],
    ['does not wait for that time', 10_000],
    ['does not wait', 0],
  ])('has its own turn again when the person %s', async (_, maxWaitMs) => {
    const { client, clock, exhaust, job, person, reader, sent } = await createWorld();
    await exhaust(30);
    const reading = reader.read(read('a'), job(clock.now(), { name: 'jo' }));
    const stop = new AbortController();
    const access = person({ name: 'mia', maxWaitMs, signal: stop.signal });
    const ended = Promise.resolve(reader.read(read('a'), access)).catch((error: unknown) => error);
    await clock.advance(0);
    const [budget] = [...client.budgets];
    const queued = () => [budget?.queued.interactive, budget?.queued.bulk];
    expect(queued()).toEqual(maxWaitMs > 60_000 ? [1, 0] : [0, 1]);
    stop.abort(new Error('stopped'));
    expect(await ended).toBeInstanceOf(Error);
    expect(queued()).toEqual([0, 1]);
    await clock.advance(120_000);
    await reading;
    expect(sent.at(-1)).toMatchObject({ caller: 'jo', callerClass: 'default', lane: 'bulk' });
  });

  test('keeps the turn of a person as long as another person waits', async () => {
    const { client, clock, exhaust, job, person, reader } = await createWorld();
    await exhaust(30);
    const reading = reader.read(read('a'), job(clock.now()));
    const stop = new AbortController();
    const leaves = person({ maxWaitMs: 90_000, name: 'mia', signal: stop.signal });
    const left = Promise.resolve(reader.read(read('a'), leaves)).catch(() => {});
    const stays = reader.read(read('a'), person({ maxWaitMs: 90_000, name: 'noa' }));
    await clock.advance(0);
    stop.abort(new Error('stopped'));
    await left;
    const [budget] = [...client.budgets];
    expect([budget?.queued.interactive, budget?.queued.bulk]).toEqual([1, 0]);
    await clock.advance(61_000);
    expect(await reading).toEqual(await stays);
  });

  test('waits with a person without moving the read of the person', async () => {
    const { client, clock, exhaust, job, person, reader, sent } = await createWorld();
    await exhaust(30);
    const access = person({ maxWaitMs: 90_000, name: 'mia' });
    const reading = reader.read(read('a'), access);
    await clock.advance(0);
    const joined = reader.read(read('a'), job(clock.now()));
    await clock.advance(0);
    const [budget] = [...client.budgets];
    expect([budget?.queued.interactive, budget?.queued.bulk]).toEqual([1, 0]);
    await clock.advance(61_000);
    expect(await joined).toEqual(await reading);
    expect(sent.at(-1)).toMatchObject({ caller: 'mia', lane: 'interactive' });
  });

  test('does not read on where the breaker is open', async () => {
    const { clock, job, reader, upstream } = await createWorld();
    upstream.onRequest = (arrival) => arrival.answer({}, 503);
    for (let n = 0; n < 6; n += 1) {
      const failing: Read<unknown> = { ...read(`${n}`), resource: n % 2 ? 'items' : 'channels' };
      await expect(reader.read(failing, job(clock.now()))).rejects.toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
      });
    }
    expect(upstream.log).toHaveLength(5);
    expect(new Receipt(clock).summary.calls).toBe(0);
  });
});
