import { afterEach, expect, it } from 'vitest';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp } from '../support/redis-connection.ts';
import { knownActors } from '../support/script-stage.ts';

afterEach(clearUp);

const ROW = 'LINKS:own:channel:42';
const write = { ms: 60_000, tags: ['t'], row: ROW };
const freed = { kind: 'ended', document: `x:${ROW}` };

describeWith(redisServer, 'a locked row', () => {
  it('is written by no other replica until it is unlocked', async () => {
    const { actors, stage } = await knownActors('a', 'b');
    const [a, b] = actors;
    expect(await a.lock(ROW, 'a.1')).toBe('locked');
    expect(await b.lock(ROW, 'b.1')).toBe('busy');
    const refused = await b.swap({ text: 'one', intents: { add: { w: write } } });
    expect(refused).toMatchObject({ done: false, excluded: ['w'], lost: [] });
    const other = { ...write, row: 'LINKS:own:channel:43' };
    expect(await b.swap({ text: 'one', intents: { add: { o: other } } })).toMatchObject({
      done: true,
    });
    // The other writes of this replica are kept apart by itself.
    await a.swap();
    const own = { w1: { ...write, lock: 'a.1' }, w2: write };
    expect(await a.swap({ text: 'two', intents: { add: own } })).toMatchObject({ done: true });
    await a.touched(['t'], 'w1');
    await a.touched(['t'], 'w2');
    await a.unlock(ROW, 'a.1');
    expect(stage.messages()).toContainEqual({ ...freed, by: 'a' });
    expect(await b.lock(ROW, 'b.1')).toBe('locked');
    // One that comes late has no effect.
    await a.unlock(ROW, 'a.1');
    expect(await a.lock(ROW, 'a.2')).toBe('busy');
  });

  it('is used when the writes to it that are in flight have ended', async () => {
    const { actors, stage } = await knownActors('a', 'b');
    const [a, b] = actors;
    await b.swap({ text: 'one', intents: { add: { w: write, v: write } } });
    expect(await a.lock(ROW, 'a.1')).toBe('waits');
    expect(await b.swap({ intents: { add: { u: write } } })).toMatchObject({ excluded: ['u'] });
    await b.touched(['t'], 'w');
    expect(stage.messages()).toContainEqual({ ...freed, by: 'b' });
    expect(await a.lock(ROW, 'a.1')).toBe('waits');
    // One that was not sent.
    await b.swap({ intents: { drop: ['v'] } });
    expect(await a.lock(ROW, 'a.1')).toBe('locked');
  });

  it('is used although a writer was never heard of again, once its intent has expired', async () => {
    const { actors, server } = await knownActors('a', 'b');
    const [a, b] = actors;
    await b.swap({ text: 'one', intents: { add: { w: { ...write, ms: 1 } } } });
    await b.goodbye();
    await server.command('PING');
    expect(await a.lock(ROW, 'a.1')).toBe('waits');
    expect((await a.beat()).tags).toEqual(['t', '1']);
    expect(await a.lock(ROW, 'a.1')).toBe('locked');
  });

  it('is locked no more when its replica is gone, which then writes nothing under that lock', async () => {
    const { actors } = await knownActors('a', 'b');
    const [a, b] = actors;
    await a.lock(ROW, 'a.1');
    await a.goodbye();
    expect(await b.swap({ text: 'one', intents: { add: { w: write } } })).toMatchObject({
      done: true,
    });
    await a.beat();
    await a.swap();
    const own = { w1: { ...write, lock: 'a.1' } };
    expect(await a.swap({ text: 'two', intents: { add: own } })).toMatchObject({ lost: ['w1'] });
    await a.lock(ROW, 'a.2');
    await a.goodbye();
    expect(await b.lock(ROW, 'b.1')).toBe('waits');
  });

  it('is forgotten with its replica by the beats of others, and its entry touches nothing', async () => {
    const { actors, server } = await knownActors('a', 'b');
    const [a, b] = actors;
    await a.lock(ROW, 'a.1');
    expect((await b.beat()).tags).toEqual([]);
    expect(await b.lock(ROW, 'b.1')).toBe('busy');
    await a.goodbye();
    expect((await b.beat()).tags).toEqual([]);
    expect(await server.command('HGET', '{gateway:1}:state', '!')).toBeNull();
  });

  it('is not locked by a replica that does not know the epoch', async () => {
    const { actors, server, stage } = await knownActors('a', 'b');
    const [a] = actors;
    expect(await stage.actor('c').lock(ROW, 'c.1')).toBe('again');
    await a.lock(ROW, 'a.1');
    await server.command('FLUSHALL');
    await a.swap();
    const own = { w1: { ...write, lock: 'a.1' } };
    expect(await a.swap({ text: 'two', intents: { add: own } })).toMatchObject({ lost: ['w1'] });
  });
});
