import { afterEach, expect, it } from 'vitest';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp } from '../support/redis-connection.ts';
import { knownActors } from '../support/script-stage.ts';

afterEach(clearUp);

const STATE = '{gateway:1}:state';

/** Two replicas, and the size of the records. */
async function stageOf(...names: readonly string[]) {
  const known = await knownActors(...names);
  const bytes = async (): Promise<number> => {
    const epoch = JSON.parse((await known.server.command('HGET', STATE, '#')) as string);
    return epoch.k;
  };
  return { ...known, bytes };
}

const sent = { name: 'key', sent: 1, text: 'sent', owned: true };
const done = { name: 'key', sent: 3, text: 'done' };

describeWith(redisServer, 'a record of a key', () => {
  it('has one owner: the first that claims it', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a, b] = actors;
    expect(await a.claim('key', 'a.1')).toMatchObject({ kind: 'owned', text: '', sent: 0 });
    expect(await b.claim('key', 'b.1')).toMatchObject({ kind: 'busy', text: 'claimed' });
    expect(await b.claim('other', 'b.2')).toMatchObject({ kind: 'owned' });
  });

  it('is taken over, as it is, from a replica whose lease has ended', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a, b] = actors;
    await a.claim('key', 'a.1');
    expect(await a.put([{ ...sent, token: 'a.1' }])).toEqual([true]);
    await a.goodbye();
    expect(await b.claim('key', 'b.1')).toMatchObject({ kind: 'owned', text: 'sent', sent: 1 });
    // Whatever it wakes up with, it is not the owner any more.
    expect(await a.put([{ ...sent, token: 'a.1', text: 'unknown' }])).toEqual([false]);
    expect(
      (await a.swap({ text: 'x', records: [{ ...sent, id: 'w', token: 'a.1' }] })).lost,
    ).toEqual(['w']);
    expect(await b.put([{ ...sent, token: 'b.1', text: 'absent' }])).toEqual([true]);
  });

  it('gets the outcome of the replica that has sent the request, also if another one owns it', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a, b] = actors;
    await a.claim('key', 'a.1');
    await a.put([{ ...sent, token: 'a.1' }]);
    await a.goodbye();
    await b.claim('key', 'b.1');
    expect(await a.put([{ ...done, token: 'a.1' }])).toEqual([true]);
    expect(await b.put([{ ...sent, token: 'b.1', text: 'unknown' }])).toEqual([false]);
    expect(await b.put([{ ...done, token: 'b.1', text: 'another' }])).toEqual([false]);
    expect(await b.claim('key', 'b.2')).toMatchObject({ kind: 'final', text: 'done', sent: 3 });
  });

  it('is free for anyone after an unknown outcome, and gone after a claim that sent nothing', async () => {
    const { actors, server, bytes, stage } = await stageOf('a', 'b');
    const [a, b] = actors;
    await a.claim('key', 'a.1');
    expect(await a.put([{ name: 'key', sent: 0, text: '', token: 'a.1' }])).toEqual([true]);
    expect(await server.command('HGET', STATE, 'k:key')).toBeNull();
    expect(await bytes()).toBe(0);
    const message = { kind: 'record', name: 'key', text: '', at: a.now, free: true, by: 'a' };
    expect(stage.messages()).toContainEqual(message);
    await a.claim('key', 'a.2');
    await a.put([{ ...sent, token: 'a.2', text: 'unknown', owned: false }]);
    expect(await b.claim('key', 'b.1')).toMatchObject({ kind: 'owned', text: 'unknown' });
  });

  it('is given up as it is by a replica that does not know whether it has got it', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    const nothing = { sent: 0, text: '', asIs: true };
    await a.put([{ ...sent, owned: false, token: '-', text: 'unknown' }]);
    await a.claim('key', 'a.1');
    await a.claim('other', 'a.2');
    const put = [
      { ...nothing, name: 'key', token: 'a.1' },
      { ...nothing, name: 'other', token: 'a.2' },
      { ...nothing, name: 'third', token: 'a.3' },
    ];
    expect(await a.put(put)).toEqual([true, true, false]);
    expect(await server.command('HGET', STATE, 'k:other')).toBeNull();
    expect(await b.claim('key', 'b.1')).toMatchObject({ kind: 'owned', text: 'unknown', sent: 1 });
    expect(await a.put(put)).toEqual([false, false, false]);
  });

  it('is claimed anew by the replica that owns it already: its other callers it knows itself', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a] = actors;
    await a.claim('key', 'a.1');
    expect(await a.claim('key', 'a.2')).toMatchObject({ kind: 'owned', text: 'claimed' });
    expect(await a.put([{ ...done, sent: 0, token: 'a.1' }])).toEqual([false]);
  });

  it('is not claimed by a replica that does not know the epoch, and nothing is written then', async () => {
    const { actors, server, stage } = await stageOf('a', 'b');
    const [a] = actors;
    const c = stage.actor('c');
    expect(await c.claim('key', 'c.1')).toMatchObject({ kind: 'again' });
    await server.command('FLUSHALL');
    expect(await a.put([{ ...done, token: 'a.1' }])).toEqual([]);
    expect(await server.command('HGET', STATE, 'k:key')).toBeNull();
    expect(await a.claim('key', 'a.1')).toMatchObject({ kind: 'owned' });
  });

  it('that was published after a loss of data replaces a claim, and no later state', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    await server.command('FLUSHALL');
    await a.swap();
    await b.swap();
    await b.claim('key', 'b.1');
    expect(await a.put([{ ...sent, owned: false, token: '-' }])).toEqual([true]);
    expect((await b.swap({ records: [{ ...sent, id: 'w', token: 'b.1' }] })).lost).toEqual(['w']);
    expect(await b.claim('key', 'b.2')).toMatchObject({ kind: 'owned', text: 'sent' });
    expect(await a.put([{ ...sent, owned: false, token: '-' }])).toEqual([false]);
    await b.put([{ ...done, token: 'b.2' }]);
    expect(await a.put([{ ...sent, owned: false, token: '-' }])).toEqual([false]);
    expect(await a.claim('key', 'a.1')).toMatchObject({ kind: 'final', text: 'done' });
    // A replica that knows more than Redis says so with its claim.
    await a.put([{ ...sent, name: 'more', owned: false, token: '-' }]);
    expect(await a.claim('more', 'a.9', { sent: 2, text: 'sent twice' })).toMatchObject({
      kind: 'owned',
      text: '',
    });
    expect(await server.command('HGET', STATE, 'k:more')).toContain('a.9 2 ');
  });

  it('of a newer version is not replaced', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a] = actors;
    for (const text of ['v2 something else', '']) {
      await server.command('HSET', STATE, 'k:key', text);
      expect(await a.claim('key', 'a.1')).toMatchObject({ kind: 'final', text: '', sent: 9 });
      expect(await a.put([{ ...done, token: 'a.1' }])).toEqual([false]);
      expect(await server.command('HGET', STATE, 'k:key')).toBe(text);
    }
  });

  it('counts until its time is over, and is deleted then', async () => {
    const { actors, bytes, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    await a.put([{ ...done, ms: 1, token: 'a.1' }]);
    await server.command('PING');
    expect(await b.claim('key', 'b.1')).toMatchObject({ kind: 'owned', text: '' });
    await b.put([{ ...done, sent: 0, ms: 1, token: 'b.1', owned: true }]);
    for (let beats = 0; beats < 30; beats += 1) await b.beat();
    expect(await server.command('HGET', STATE, 'k:key')).toBeNull();
    expect(await bytes()).toBe(0);
  });

  it('makes room for others when all take up too much, the final ones first', async () => {
    const { actors, bytes, server } = await stageOf('a', 'b');
    const [a] = actors;
    const of = (n: number) => ({ name: `key ${n}`, sent: 3, token: '-', text: 'x'.repeat(300) });
    for (let n = 0; n < 30; n += 1) await a.put([{ ...of(n), ms: 1000_000 + n * 1000 }], 4000);
    const before = await bytes();
    expect(before).toBeLessThan(6000);
    await a.claim('key', 'a.1', { max: 1 });
    await a.claim('key', 'a.2', { max: 1 });
    const { low } = await a.claim('key', 'a.3', { max: 1 });
    expect(low).toBeGreaterThan(a.now);
    expect(await server.command('HGET', STATE, 'k:key')).toContain('a.3 0 ');
    expect(await bytes()).toBeLessThan(before);
  });
});

describeWith(redisServer, 'a swap with the record of a write', () => {
  it('writes it with the slot, and else writes nothing', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    await a.claim('key', 'a.1');
    await b.claim('other', 'b.1');
    const records = [{ ...sent, id: 'a w', token: 'a.1' }];
    expect(await a.swap({ text: 'one', records })).toMatchObject({ done: true, lost: [] });
    expect(await server.command('HGET', STATE, 'k:key')).toMatch(/^a\.1 1 0 \d+ sent$/);
    const foreign = [...records, { ...sent, name: 'other', id: 'foreign', token: 'a.2' }];
    const refused = await a.swap({ text: 'two', records: foreign, bid: 'waits', bidMs: 1000 });
    expect(refused).toMatchObject({ done: false, text: 'one', lost: ['foreign'] });
    expect((await b.swap()).bids).toEqual([]);
    expect(await server.command('HGET', STATE, 'k:other')).toContain('b.1 0 ');
    // It can be granted again under the same token: a reply may have been lost.
    expect(await a.swap({ text: 'three', records })).toMatchObject({ done: true });
  });

  it('is refused after a loss of data', async () => {
    const { actors, server } = await stageOf('a');
    const [a] = actors;
    await a.claim('key', 'a.1');
    await server.command('FLUSHALL');
    await a.swap();
    const records = [{ ...sent, id: 'w', token: 'a.1' }];
    expect(await a.swap({ text: 'one', records })).toMatchObject({ done: false, lost: ['w'] });
  });
});
