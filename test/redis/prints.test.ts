import { afterEach, expect, it } from 'vitest';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp } from '../support/redis-connection.ts';
import { STATE, setClock } from '../support/replicas/redis-insight.ts';
import { type Actor, scriptStage } from '../support/script-stage.ts';

afterEach(clearUp);

const ordinalOf = ({ epoch }: Actor) => Number(/^#(\d+)\./.exec(epoch)?.[1]);

/** Replicas by name, those whose name begins with `foreign` with another secret, and the time at will. */
async function stageOf(...names: readonly string[]) {
  const stage = await scriptStage();
  const actors = names.map((name) =>
    stage.actor(name, name.startsWith('foreign') ? 'foreign print' : 'print'),
  );
  return {
    stage,
    server: stage.server,
    actors: actors as [Actor, Actor, Actor],
    /** Lets time pass without calls. */
    pause: (ms: number) => setClock(stage.server, ms),
    /** Lets time pass in which these call in this order, again and again; returns which of them were served last. */
    live: async (ms: number, ...order: readonly Actor[]): Promise<string[]> => {
      let served: string[] = [];
      for (let passed = 0; passed < ms; passed += 600) {
        served = [];
        for (const actor of order) if (await isServed(actor)) served.push(actor.id);
        await setClock(stage.server, 600);
      }
      return served;
    },
  };
}

async function isServed(actor: Actor): Promise<boolean> {
  return actor.beat().then(
    () => true,
    () => false,
  );
}

describeWith(redisServer, 'A replica with another secret', () => {
  it('does not take over in a pause of Redis, however long it is and whichever comes first then', async () => {
    const { actors, pause } = await stageOf('a', 'foreign');
    const [a, foreign] = actors;
    await a.beat();
    const { epoch } = a;
    for (const ms of [2000, 70_000, 3_600_000]) {
      expect(await isServed(foreign)).toBe(false);
      await pause(ms);
      for (let nth = 0; nth < 10; nth += 1) expect(await isServed(foreign)).toBe(false);
      expect(await isServed(a)).toBe(true);
    }
    expect(a.epoch).toBe(epoch);
  });

  it('is served once those with the first have not called for a minute in which it did', async () => {
    const { actors, live } = await stageOf('a', 'foreign');
    const [a, foreign] = actors;
    await a.beat();
    expect(await live(40_000, foreign)).toEqual([]);
    expect(await isServed(a)).toBe(true);
    // The minute starts again.
    expect(await live(40_000, foreign)).toEqual([]);
    expect(await live(70_000, foreign)).toEqual(['foreign']);
    expect(await isServed(a)).toBe(false);
    expect(ordinalOf(foreign)).toBe(ordinalOf(a) + 1);
    // Nothing is known of what the others did.
    expect((await foreign.swap()).ageMs).toBeLessThan(60_000);
  });

  it('stays out as long as there are as many of the others, and who comes first is outnumbered in a minute', async () => {
    const { actors, live } = await stageOf('foreign', 'a', 'b');
    const [foreign, a, b] = actors;
    expect(await isServed(foreign)).toBe(true);
    expect(await live(90_000, foreign, a)).toEqual(['foreign']);
    expect(await live(100_000, foreign, a, b)).toEqual(['a', 'b']);
    expect(await live(90_000, foreign, a)).toEqual(['a']);
  });

  it('does not keep what it came to first after a loss of memory', async () => {
    const { actors, server, live } = await stageOf('a', 'foreign');
    const [a, foreign] = actors;
    for (let nth = 0; nth < 3; nth += 1) {
      expect(await isServed(a)).toBe(true);
      expect(await isServed(foreign)).toBe(false);
      await server.command('FLUSHALL');
      expect(await isServed(foreign)).toBe(true);
      expect(await isServed(a)).toBe(true);
      expect(await isServed(foreign)).toBe(false);
    }
    // Nor where Redis comes back with what it wrote down, as another process.
    const text = (await server.command('HGET', STATE, '#')) as string;
    await server.command('HSET', STATE, '#', JSON.stringify({ ...JSON.parse(text), run: 'other' }));
    expect(await live(3000, foreign, a)).toEqual(['a']);
  });

  it('is served at once where all others have said goodbye, unless it lay in wait', async () => {
    const { actors, stage, pause } = await stageOf('a', 'foreign');
    const [a, foreign] = actors;
    await a.beat();
    await expect(foreign.swap()).rejects.toThrow('differs');
    await expect(foreign.beat()).rejects.toThrow('differs');
    await a.goodbye();
    expect(await isServed(foreign)).toBe(false);
    const successor = stage.actor('successor');
    expect(await isServed(successor)).toBe(true);
    await pause(5000);
    await successor.beat();
    await successor.goodbye();
    expect(await isServed(foreign)).toBe(true);
    expect(foreign.epoch).not.toBe(successor.epoch);
    await expect(successor.swap()).rejects.toThrow('differs');
  });

  it('that was served once makes for one quarantine where Redis goes back to before', async () => {
    const { actors, server, live } = await stageOf('a', 'foreign');
    const [a, foreign] = actors;
    await a.beat();
    const before = (await server.command('HGET', STATE, '#')) as string;
    expect(await live(100_000, foreign)).toEqual(['foreign']);
    await server.command('DEL', STATE);
    // Long ago, so that the foreign one has no claim to have been there before.
    const epoch = { ...JSON.parse(before), since: JSON.parse(before).since - 3_600_000 };
    await server.command('HSET', STATE, '#', JSON.stringify(epoch));
    expect(await isServed(foreign)).toBe(false);
    const { epoch: old } = a;
    expect(await isServed(a)).toBe(true);
    expect(a.epoch).not.toBe(old);
    expect(ordinalOf(a)).toBe(ordinalOf(foreign) + 1);
    const { epoch: then } = a;
    for (let nth = 0; nth < 5; nth += 1) expect(await isServed(foreign)).toBe(false);
    await a.beat();
    expect(a.epoch).toBe(then);
  });

  it('is told of to the others, for as long as it calls', async () => {
    const { actors, stage, pause } = await stageOf('a', 'foreign 1', 'foreign 2');
    const [a, one, two] = actors;
    const strangers = async () => (await a.beat()).strangers;
    expect(await strangers()).toBe(0);
    for (const actor of [one, two, one]) expect(await isServed(actor)).toBe(false);
    expect(await strangers()).toBe(2);
    await isServed(stage.actor('third', 'third print'));
    expect(await strangers()).toBe(3);
    await pause(1600);
    expect(await strangers()).toBe(0);
  });

  it.each([
    '[]',
    '{"foreign print":7}',
    '{"foreign print":{"ids":3}}',
    '{"foreign print":{"ids":{"foreign":"ever"},"since":"ever","at":[]}}',
    '{"foreign print":{"ids":{"foreign":{}},"since":{},"at":"ever"}}',
  ])('is kept out also where somebody wrote %s about it', async (text) => {
    const { actors, server } = await stageOf('a', 'foreign');
    const [a, foreign] = actors;
    await a.beat();
    await server.command('HSET', STATE, '~', text);
    await isServed(foreign);
    await isServed(a);
    expect(await isServed(a)).toBe(true);
    expect(await isServed(foreign)).toBe(false);
  });
});
