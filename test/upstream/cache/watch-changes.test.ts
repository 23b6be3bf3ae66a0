import { describe, expect, test } from 'vitest';
import { noLists } from '../../support/no-lists.ts';
import { credential, read, startWatchWorld, TTL, write } from './watch-world.ts';

/** A world in which one thing is watched. */
async function watching(
  options: Parameters<typeof startWatchWorld>[0] & { filled?: boolean } = {},
) {
  const world = startWatchWorld(options);
  if (options.filled !== false) await world.load(['thing']);
  const changes: string[] = [];
  const watch = world.watch('thing', (change) => {
    changes.push(`${change}, ${watch.look() ? 'there' : 'gone'}`);
  });
  const send = (...tags: string[]) => world.reader.write(write(...tags), world.access(), noLists);
  return { ...world, changes, watch, send };
}

describe('A caller that watches an answer', () => {
  test('is told of a write to it before the writer is, and of the next answer', async () => {
    const { ask, changes, clock, send } = await watching();
    const written = send('thing').then(() => changes.push('written'));
    await clock.advance(1000);
    await written;
    expect(changes).toEqual(['touched, gone', 'written']);
    await Promise.all([ask('thing'), clock.advance(1000)]);
    expect(changes.slice(2)).toEqual(['renewed, there']);
  });

  test.each([
    ['its own', 'thing', 1],
    ['one that its answer told', 'row of thing', 1],
    ['one that stands for those until there is an answer', 'late', 0],
    ['another', 'other', 0],
  ])('is told of a write to %s tag or not: %s, %i times', async (_, tag, times) => {
    const { changes, clock, send } = await watching();
    await Promise.all([send(tag), clock.advance(1000)]);
    expect(changes).toHaveLength(times);
  });

  test.each([
    ['thing', 1],
    ['late', 1],
    ['row of thing', 0],
  ])(
    'is told before there is an answer of all that may touch it: %s, %i times',
    async (tag, times) => {
      const { changes, clock, send } = await watching({ filled: false });
      await Promise.all([send(tag), clock.advance(1000)]);
      expect(changes).toEqual(Array.from({ length: times }, () => 'touched, gone'));
    },
  );

  test('is told of what touches an answer that is gone already', async () => {
    const { changes, clock, send } = await watching();
    await Promise.all([send('thing'), clock.advance(1000)]);
    await Promise.all([send('row of thing'), clock.advance(1000)]);
    expect(changes).toEqual(['touched, gone', 'touched, gone']);
  });

  test('is told when so much was written that nothing old is certain', async () => {
    const { changes, clock, send } = await watching();
    const tags = Array.from({ length: 10_001 }, (_, n) => `other${n}`);
    await Promise.all([send(...tags), clock.advance(1000)]);
    expect(changes).toEqual(['touched, gone']);
  });

  test('is told nothing after the end, not even by the change at which another ends it', async () => {
    const { changes, client, clock, send, watch } = await watching();
    const watchToo = (changed: () => void) =>
      client.cached.watch(client.keyed(read('thing'), credential), changed, () => ['someone']);
    const others = [1, 2].map(() =>
      watchToo(() => {
        changes.push('other');
        for (const other of others) other.end();
        watchToo(() => changes.push('too late'));
      }),
    );
    watch.end();
    await Promise.all([send('thing'), clock.advance(1000)]);
    expect(changes).toEqual(['other']);
  });

  test('is not told of an answer that the cache did not take', async () => {
    const { ask, changes, clock, upstream } = await watching({ filled: false, maxBytes: 1000 });
    upstream.body = JSON.stringify({ long: 'x'.repeat(2000) });
    await Promise.all([ask('thing'), clock.advance(1000)]);
    expect(changes).toEqual([]);
  });

  test('with a key that is refused hears of it once, however often it reads again', async () => {
    const world = startWatchWorld();
    const own = { partition: 'q', secret: 'own', ofCaller: true } as const;
    const ask = async () =>
      world.reader.read(read('thing'), { ...world.access(true), credential: own });
    await Promise.all([ask(), world.clock.advance(1000)]);
    const changes: string[] = [];
    const changed = (change: string): void => {
      changes.push(change);
      void ask().catch(() => {});
    };
    const { client } = world;
    client.cached.watch(client.keyed(read('thing'), own), changed, () => ['someone']);
    world.upstream.status = 401;
    await world.clock.advance(10 * TTL);
    expect(changes).toEqual(['touched']);
    // The refresh, and what the listener asked for.
    expect(world.calls()).toHaveLength(3);
  });
});
