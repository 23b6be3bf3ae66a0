import { describe, expect, test } from 'vitest';
import { UpstreamRejected } from '../../../src/errors.ts';
import { EventStream } from '../../../src/observe/event-stream.ts';
import type { EventRows } from '../../../src/observe/events.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import type { Write } from '../../../src/upstream/request.ts';
import { clientWorld, read } from '../client-world.ts';

/** A client of which a job waits for a slot that it may not use yet, and people have two. */
async function createWorld() {
  const events = new EventStream();
  const sent: EventRows['requestSent'][] = [];
  events.add({ requestSent: (request) => sent.push(request) });
  const { caller, client, clock, reader, upstream, ...world } = await clientWorld(() => ({
    events,
  }));
  const credential = { partition: 'p', secret: 'secret' };
  const access = (more: Partial<Access['caller']>): Access => ({
    caller: caller({ maxWaitMs: 10_000, ...more }),
    credential,
  });
  const person = access({ name: 'mia' });
  const stop = new AbortController();
  const job = access({ name: 'jo', bulk: { acceptsFrom: 0 }, signal: stop.signal });
  const lists = {
    cachedEnd: () => null,
    cachedRow: () => null,
    pageCall: () => {
      throw new Error('no page is read');
    },
  };
  /** Sends a write to one row; its body names it. */
  const write = (of: Access, name: string, guard?: () => Promise<void>): Promise<unknown> => {
    const change: Write<unknown> = {
      method: 'POST',
      path: `/api/${name}`,
      decode: (body) => body,
      touches: () => ['row'],
      check: null,
      row: 'row',
      evidence: null,
      ...(guard && { guard }),
    };
    return client.keyedWrites.write(change, of, lists);
  };
  const paths = () => upstream.log.map(({ url }) => url.pathname.slice('/api/'.length));
  /** Nothing is free for jobs then, and their minimum is used. */
  const use = async () => {
    await reader.read(read('first'), job);
    const others = () => access({ name: 'mia' });
    await Promise.all(Array.from({ length: 27 }, (_, n) => reader.read(read(`${n}`), others())));
    upstream.log.length = 0;
    sent.length = 0;
  };
  await use();
  const [budget] = [...client.budgets];
  const queued = () => budget?.queuedIn('bulk');
  return { ...world, client, clock, job, paths, person, queued, sent, stop, upstream, write };
}

const passes = (): Promise<void> => Promise.resolve();

describe('A write of a job that waits for a slot', () => {
  test.each([
    ['plain', undefined],
    ['guarded', passes],
  ])('keeps no write to its row from being sent: %s', async (_, guard) => {
    const { clock, job, paths, person, queued, write } = await createWorld();
    const waits = write(job, 'job', guard);
    await clock.advance(0);
    expect(queued()).toBe(1);
    await write(person, 'plain');
    await write(person, 'guarded', passes);
    expect(paths()).toEqual(['plain', 'guarded']);
    // Its minimum comes after half a window.
    await clock.advance(61_000);
    await waits;
    expect(paths()).toEqual(['plain', 'guarded', 'job']);
  });

  test('is compared with its row again when it has its slot', async () => {
    const { clock, job, paths, person, queued, write } = await createWorld();
    let isChanged = false;
    const guard = async (): Promise<void> => {
      if (isChanged) throw new UpstreamRejected('LINKS', 'It is another one.');
    };
    const waits = write(job, 'job', guard).catch((error: unknown) => error);
    await clock.advance(0);
    expect(queued()).toBe(1);
    await write(person, 'person');
    isChanged = true;
    await clock.advance(61_000);
    expect(await waits).toMatchObject({ reason: 'It is another one.' });
    expect(paths()).toEqual(['person']);
    // It has left no lock, and its slot.
    await write(person, 'after', passes);
    expect(queued()).toBe(0);
  });

  test('is not queued if its row is not as expected', async () => {
    const { job, queued, write } = await createWorld();
    const guard = () => Promise.reject(new UpstreamRejected('LINKS', 'It is another one.'));
    await expect(write(job, 'job', guard)).rejects.toThrow(UpstreamRejected);
    expect(queued()).toBe(0);
  });

  test('returns its slot while its row is read, and others may change it meanwhile', async () => {
    const { clock, job, paths, person, write } = await createWorld();
    const reads: (() => void)[] = [];
    let times = 0;
    const isCompared = (): boolean => times === 2;
    /** The row has to be read again when the write has its slot. */
    const guard = (): Promise<void> => {
      times += 1;
      return times === 2 ? new Promise((resolve) => void reads.push(resolve)) : Promise.resolve();
    };
    const waits = write(job, 'job', guard);
    for (let n = 0; n < 700 && !isCompared(); n += 1) await clock.advance(100);
    expect(times).toBe(2);
    const guarded = write(person, 'person', passes);
    await clock.advance(500);
    // It waits for the one that compares, but not for its read.
    expect(paths()).toEqual([]);
    await clock.advance(600);
    await guarded;
    expect(paths()).toEqual(['person']);
    reads[0]?.();
    // Its next slot is due at once.
    await clock.advance(1000);
    await waits;
    expect([paths(), times]).toEqual([['person', 'job'], 3]);
  });

  test('waits without a slot for one that excludes it', async () => {
    const { clock, job, paths, person, queued, upstream, write } = await createWorld();
    let pass = (): void => {};
    const comparing = write(person, 'person', () => new Promise((resolve) => (pass = resolve)));
    const waits = write(job, 'job');
    for (let n = 0; n < 62; n += 1) await clock.advance(1000);
    // It had a slot for a second.
    expect([queued(), paths()]).toEqual([0, []]);
    expect(upstream.log).toHaveLength(0);
    pass();
    await comparing;
    await clock.advance(1000);
    await waits;
    expect(paths()).toEqual(['person', 'job']);
  });

  test('leaves its row to others when it was refused', async () => {
    const { clock, job, paths, person, upstream, write } = await createWorld();
    upstream.onRequest = (arrival) => arrival.answer({}, 429, { 'retry-after': '5' });
    const waits = write(job, 'job', passes);
    for (let n = 0; n < 620 && paths().length === 0; n += 1) await clock.advance(100);
    expect(paths()).toEqual(['job']);
    upstream.onRequest = (arrival) => arrival.answer({});
    const guarded = write(person, 'person', passes);
    await clock.advance(6000);
    await guarded;
    expect(paths()).toEqual(['job', 'person']);
    // Then the window is full.
    await clock.advance(60_000);
    await waits;
    expect(paths()).toEqual(['job', 'person', 'job']);
  });

  test('leaves the queue as soon as the job is stopped, also while it compares', async () => {
    const { clock, job, paths, person, queued, stop, write } = await createWorld();
    const waits = write(job, 'job', passes).catch((error: unknown) => error);
    await clock.advance(0);
    stop.abort(new Error('stopped'));
    expect(await waits).toMatchObject({ message: 'stopped' });
    expect(queued()).toBe(0);
    await clock.advance(61_000);
    await write(person, 'person', passes);
    expect(paths()).toEqual(['person']);
  });

  test('and the looks for its effect are charged to the lane of jobs', async () => {
    const { client, clock, job, sent, write } = await createWorld();
    await clock.advance(61_000);
    await write(job, 'job');
    await client.writes.look({ method: 'GET', path: '/api/look', decode: (body) => body }, job);
    expect(sent.map(({ caller, callerClass, lane }) => [caller, callerClass, lane])).toEqual([
      ['jo', 'default', 'bulk'],
      ['jo', 'default', 'bulk'],
    ]);
  });
});
