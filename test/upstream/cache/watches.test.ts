import { describe, expect, test } from 'vitest';
import { names, read, startWatchWorld, TTL } from './watch-world.ts';

type WatchWorld = ReturnType<typeof startWatchWorld>;

/** How many refreshes a minute has room for. */
function refreshesOf({ client }: WatchWorld): number {
  const [budget] = client.budgets;
  return budget?.refreshesPerWindow ?? 0;
}

describe('What is watched', () => {
  test.each([10, 75])('is read again in its turn: %i answers', async (count) => {
    const world = startWatchWorld();
    const { clock, log } = world;
    await world.load(names(count));
    const watches = names(count).map((name) => world.watch(name));
    const idealMs = Math.max(TTL, (count / refreshesOf(world)) * 60_000);
    await clock.advance(2 * idealMs);
    log.length = 0;
    let oldestMs = 0;
    await world.pass(4 * idealMs, () => {
      for (const watch of watches) {
        oldestMs = Math.max(oldestMs, clock.now() - (watch.look()?.stamp.storedAt ?? 0));
      }
    });
    expect(oldestMs / idealMs).toBeLessThanOrEqual(1.25);
    // Nothing is read more often than once per ttl, and nothing as often as that if there is no room for it.
    for (const name of names(count)) {
      const times = log.filter((call) => call.name === name).map(({ at }) => at);
      expect(times.length).toBeGreaterThanOrEqual(3);
      for (const [n, at] of times.slice(1).entries()) {
        expect(at - (times[n] ?? 0)).toBeGreaterThanOrEqual(TTL);
      }
    }
  });

  test('is read in turns of those who watch it, and in the best of them', async () => {
    const world = startWatchWorld();
    const { clock } = world;
    const count = 120;
    await world.load([...names(count), 'mine', 'ours']);
    const pause = (): void => {};
    for (const name of [...names(count), 'ours']) world.watch(name, pause, 'greedy');
    const mine = world.watch('mine', pause, 'other');
    const ours = world.watch('ours', pause, 'third');
    const oldestMs = { mine: 0, ours: 0, theirs: 0 };
    const theirs = world.watch('thing7', pause, 'greedy');
    await clock.advance(10 * TTL);
    world.log.length = 0;
    await world.pass(20 * TTL, () => {
      for (const [name, watch] of Object.entries({ mine, ours, theirs })) {
        const ageMs = clock.now() - (watch.look()?.stamp.storedAt ?? 0);
        oldestMs[name as 'mine'] = Math.max(oldestMs[name as 'mine'], ageMs);
      }
    });
    const turnMs = 60_000 / refreshesOf(world);
    expect(oldestMs.mine).toBeLessThan(TTL + 6 * turnMs);
    expect(oldestMs.ours).toBeLessThan(TTL + 6 * turnMs);
    // What they take of the turns is little.
    expect(oldestMs.theirs).toBeLessThan(1.25 * (count + 40) * turnMs);
    expect(world.calls().length).toBeGreaterThan(19 * refreshesOf(world));
  });

  test('is read once per ttl, and not once for each who watches', async () => {
    const world = startWatchWorld();
    await world.load(names(3));
    for (const name of [...names(3), ...names(3)]) world.watch(name);
    await world.clock.advance(10 * TTL);
    for (const name of names(3)) {
      const times = world.calls().filter((call) => call === name).length;
      expect([9, 10]).toContain(times);
    }
  });

  test('is read again although another watch has ended', async () => {
    const world = startWatchWorld();
    await world.load(names(2));
    const [first] = names(2).map((name) => world.watch(name));
    await world.clock.advance(TTL / 2);
    first?.end();
    await world.clock.advance(4 * TTL);
    const [ended, kept] = names(2).map((name) => world.calls().filter((call) => call === name));
    expect([ended, kept?.length]).toEqual([[], 4]);
  });

  test('is not read before somebody has, and then once per ttl', async () => {
    const world = startWatchWorld();
    world.watch('thing0');
    await world.clock.advance(3_600_000);
    expect(world.calls()).toEqual([]);
    await world.load(['thing0']);
    await world.clock.advance(3 * TTL);
    expect(world.calls()).toEqual(['thing0', 'thing0', 'thing0']);
  });

  test('is not read again once the last watch has ended, nor what waited for its turn', async () => {
    const world = startWatchWorld();
    await world.load(names(60));
    const watches = names(60).flatMap((name) => [world.watch(name), world.watch(name)]);
    await world.clock.advance(2 * TTL);
    const [budget] = world.client.budgets;
    expect(budget?.queued.refresh).toBeGreaterThan(10);
    expect(budget?.queued.refresh).toBeLessThanOrEqual(refreshesOf(world));
    for (const watch of watches.filter((_, n) => n % 2 === 0)) watch.end();
    expect(world.client.refresher.watches.size).toBe(60);
    for (const watch of watches) {
      watch.end();
      watch.end();
    }
    expect(world.client.refresher.watches.size).toBe(0);
    expect(budget?.queued.refresh).toBe(0);
    world.log.length = 0;
    await world.clock.advance(3_600_000);
    expect(world.calls()).toEqual([]);
  });

  test('goes before what others ask for all the time, which has what is left', async () => {
    const world = startWatchWorld();
    await world.load(names(60));
    const watched = names(40).map((name) => world.watch(name));
    const hot = names(60).slice(40);
    const readers = () => {
      for (const name of hot) void world.ask(name);
    };
    await world.pass(5 * TTL, readers);
    world.log.length = 0;
    await world.pass(5 * TTL, readers);
    expect(world.calls().length).toBeGreaterThan(100);
    expect(world.calls().filter((name) => hot.includes(name))).toEqual([]);
    for (const watch of watched.slice(15)) watch.end();
    await world.pass(5 * TTL, readers);
    const times = (wanted: readonly string[]) =>
      world.calls().filter((name) => wanted.includes(name)).length / wanted.length;
    world.log.length = 0;
    await world.pass(10 * TTL, readers);
    expect(times(names(15))).toBeGreaterThanOrEqual(9);
    expect(times(hot)).toBeGreaterThan(2);
    expect(times(hot)).toBeLessThan(times(names(15)));
  });

  test('leaves its turn to readers who want it too, when it is not watched any more', async () => {
    const world = startWatchWorld();
    await world.load(names(40));
    const watches = names(40).map((name) => world.watch(name));
    await world.clock.advance(TTL + 1000);
    const wanted = names(40).findLast((name) => !world.calls().includes(name)) as string;
    await world.ask(wanted);
    world.log.length = 0;
    for (const watch of watches) watch.end();
    await world.clock.advance(10 * TTL);
    expect(world.calls()).toEqual([wanted]);
  });

  test('waits longer each time that the upstream fails, and is told when it is back', async () => {
    const world = startWatchWorld();
    await world.load(names(1));
    const changes: string[] = [];
    const watch = world.watch('thing0', (change) => changes.push(change));
    world.upstream.status = 503;
    world.upstream.body = '{"message":"no"}';
    await world.clock.advance(watch.nextRefreshInMs() ?? 0);
    for (let times = 1; times <= 5; times += 1) {
      expect(world.calls()).toHaveLength(times);
      const nextMs = watch.nextRefreshInMs() ?? 0;
      await world.clock.advance(nextMs - 1);
      expect(world.calls()).toHaveLength(times);
      await world.clock.advance(1);
    }
    await world.clock.advance(20 * TTL);
    const gaps = world.log.slice(1).map(({ at }, n) => at - (world.log[n]?.at ?? 0));
    expect(gaps.length).toBeGreaterThan(5);
    expect(gaps.length).toBeLessThan(20);
    expect(gaps.toSorted((a, b) => a - b)).toEqual(gaps);
    expect(changes).toEqual([]);
    world.upstream.status = 200;
    world.upstream.body = '{}';
    await world.clock.advance(3 * TTL);
    expect(changes[0]).toBe('renewed');
    expect(new Set(changes)).toEqual(new Set(['renewed']));
  });

  test('shows no interest in what is read with it', async () => {
    const world = startWatchWorld();
    await world.load(names(20));
    await world.clock.advance(TTL);
    for (let round = 0; round < 4; round += 1) {
      for (const name of names(20)) await world.reader.read(read(name), world.access(true));
      await world.clock.advance(2000);
    }
    await world.clock.advance(3_600_000);
    expect(world.calls()).toEqual([]);
  });

  test('says when it will be read again', async () => {
    const world = startWatchWorld();
    await world.load(names(40));
    const watches = names(40).map((name) => world.watch(name));
    const missing = world.watch('nothing');
    const { clock } = world;
    expect(missing.nextRefreshInMs()).toBeNull();
    const leftMs = watches.map((watch) => (watch.look()?.stamp.storedAt ?? 0) + TTL - clock.now());
    expect(leftMs.filter((ms) => ms > 0).length).toBeGreaterThan(5);
    for (const [n, watch] of watches.entries()) {
      if ((leftMs[n] ?? 0) > 0) expect(watch.nextRefreshInMs()).toBe(leftMs[n]);
    }
    await clock.advance(2 * TTL);
    // From here each is due or was read of late: who is due is told its place in the line.
    const said = watches.map((watch) => clock.now() + (watch.nextRefreshInMs() ?? 0));
    const due = watches.flatMap((watch, n) =>
      clock.now() - (watch.look()?.stamp.storedAt ?? 0) >= TTL ? [n] : [],
    );
    expect(due.length).toBeGreaterThan(5);
    world.log.length = 0;
    await clock.advance(TTL);
    for (const n of due) {
      const at = world.log.find(({ name }) => name === `thing${n}`)?.at ?? Number.POSITIVE_INFINITY;
      expect(Math.abs(at - (said[n] ?? 0))).toBeLessThan(10_000);
    }
    for (const watch of watches) watch.end();
    expect(watches[0]?.nextRefreshInMs()).toBeNull();
  });
});
