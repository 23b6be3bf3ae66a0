import { describe, expect, it } from 'vitest';
import type { PendingWrites, WriteAnswer } from '../../client/pending-writes.ts';
import { CREATE, done, failed, keyOf, variables, WriteWorld } from './write-world.ts';

const DAY_MS = 86_400_000;
const world = new WriteWorld();
const send = (): Promise<WriteAnswer> => world.writes.send(CREATE, variables);

/** Leaves a page whose request is under way, and returns its key. */
async function leave(page = world.writes, of: object = variables): Promise<string> {
  page.send(CREATE, of).catch(() => {});
  return keyOf(await world.asked());
}

describe('a write of a page that was left', () => {
  it('is listed by the next one, which sends it with the same key', async () => {
    const key = await leave();
    world.writes = world.page();
    expect(world.writes.list()).toMatchObject([
      { key, operation: CREATE, variables, state: 'stopped', isUnsure: true, isKept: true },
    ]);
    const answer = send();
    const asked = await world.asked();
    expect(keyOf(asked)).toBe(key);
    asked.answer(200, done);
    expect(await answer).toEqual(done);
    world.expectRest();
  });

  it('is certainly unsent if the page was offline', async () => {
    world.client.isOnline = false;
    send().catch(() => {});
    await world.client.clock.settle();
    expect(world.page().list()).toMatchObject([{ state: 'stopped', isUnsure: false }]);
  });

  it('is the same if the person fills in the form again', async () => {
    const key = await leave();
    world.writes = world.page();
    const answer = send();
    const other = world.writes.send(CREATE, { input: { name: 'Spring sale' } });
    const asked = [await world.asked(), await world.asked()];
    expect(asked.filter((each) => keyOf(each) === key)).toHaveLength(1);
    for (const each of asked) each.answer(200, done);
    await Promise.all([answer, other]);
    world.expectRest();
  });

  it('is shared with a tab, and gone when that tab has its answer', async () => {
    const key = await leave();
    const tab = world.page();
    const other = world.page();
    const answer = tab.send(CREATE, variables);
    const asked = await world.asked();
    expect(keyOf(asked)).toBe(key);
    asked.answer(200, done);
    await answer;
    // This one still lists it. What is sent now is another decision.
    expect(other.list()).toHaveLength(1);
    const next = other.send(CREATE, variables);
    const second = await world.asked();
    expect(keyOf(second)).not.toBe(key);
    second.answer(200, done);
    await next;
    expect(other.list()).toEqual([]);
  });

  it('is that of another tab if both send it', async () => {
    const tab = world.page();
    const key = await leave();
    const answer = tab.send(CREATE, variables);
    const asked = await world.asked();
    expect(keyOf(asked)).toBe(key);
    asked.answer(200, done);
    expect(await answer).toEqual(done);
  });

  it('expires after 24 hours, and is told once', async () => {
    const key = await leave();
    world.client.clock.jumpWall(DAY_MS);
    world.writes = world.page();
    expect(world.writes.list()).toMatchObject([{ key, state: 'expired' }]);
    expect(world.storage.length).toBe(0);
    const answer = send();
    const asked = await world.asked();
    expect(keyOf(asked)).not.toBe(key);
    asked.answer(200, done);
    await answer;
    world.writes.forget(key);
    world.expectRest();
    expect(world.page().list()).toEqual([]);
  });

  it('expires in the page too', async () => {
    const answer = send();
    const refused = failed('BUDGET_EXHAUSTED', { retryAfterMs: DAY_MS });
    (await world.asked()).answer(503, refused);
    expect(await answer).toEqual(refused);
    expect(world.writes.list()).toMatchObject([{ state: 'expired', isUnsure: false }]);
    expect([world.storage.length, world.client.waits.size]).toEqual([0, 0]);
  });
});

describe('the storage of pending writes', () => {
  it('belongs to who is logged in', async () => {
    await leave(world.page({ owner: 'a' }));
    expect(world.page({ owner: 'a' }).list()).toHaveLength(1);
    for (const owner of ['', 'b', 'a:b']) expect(world.page({ owner }).list()).toEqual([]);
    world.client.clock.jumpWall(DAY_MS);
    // Writes of other owners are removed too.
    world.page({ owner: 'b' });
    expect(world.storage.length).toBe(0);
  });

  it('holds no secret', async () => {
    const page = world.page({ secret: ['CreateUser'] });
    const answer = page.send('CreateUser', { input: { password: 'correct horse' } });
    expect(page.list()).toMatchObject([{ isKept: false }]);
    const first = await world.asked();
    expect(world.storage.length).toBe(0);
    first.cut();
    await world.waitOut();
    const second = await world.asked();
    expect(keyOf(second)).toBe(keyOf(first));
    expect(world.storage.length).toBe(0);
    second.answer(200, done);
    await answer;
  });

  it('holds 50 writes, and none of more than 16,384 characters', async () => {
    const page = world.page();
    const large = { input: { description: 'x'.repeat(16_384) } };
    await leave(page, large);
    expect(page.list()).toMatchObject([{ isKept: false }]);
    for (let n = 0; n < 51; n += 1) await leave(page, { n });
    expect(page.list().map(({ isKept }) => isKept)).toEqual([
      false,
      ...Array.from({ length: 50 }, () => true),
      false,
    ]);
    expect(world.storage.length).toBe(50);
    expect(world.page().list()).toHaveLength(50);
  });

  it.each<[string, () => PendingWrites]>([
    [
      'is full',
      () => {
        world.storage.room = 0;
        return world.page();
      },
    ],
    ['does not exist', () => world.page({ storage: null })],
    ['is that of Node', () => world.client.pendingWrites({ send: () => Promise.resolve(done) })],
  ])('is not needed: it %s', async (_, open) => {
    const page = open();
    const answer = page.send(CREATE, variables);
    expect(page.list()).toMatchObject([{ isKept: false }]);
    await Promise.race([answer, world.asked().then((asked) => asked.answer(200, done))]);
    expect(await answer).toEqual(done);
  });

  it('ignores what others have written, and removes what it cannot read', async () => {
    const key = await leave();
    const [[name, text] = ['', '']] = [...world.storage.items];
    const own = name.replace(key, '');
    world.storage.items.clear();
    world.storage.setItem('theirs', text);
    world.storage.setItem(name.replace(':1:', ':2:'), text);
    const broken = ['', '{', 'null', '[]', '{}', '{"operation":1}', text.replace('madeAt', 'made')];
    for (const [at, each] of broken.entries()) world.storage.setItem(`${own}${at}`, each);
    expect(world.page().list()).toEqual([]);
    expect(world.storage.length).toBe(2);
  });
});
