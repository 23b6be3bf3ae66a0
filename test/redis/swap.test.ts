import { afterEach, expect, it } from 'vitest';
import { SharedDocument } from '../../src/redis/shared-document.ts';
import { protocolTimes } from '../../src/redis/times.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp } from '../support/redis-connection.ts';
import { setClock } from '../support/replicas/redis-insight.ts';
import { type Actor, DOCUMENT, scriptStage } from '../support/script-stage.ts';

afterEach(clearUp);

const STATE = '{gateway:1}:state';

/** Replicas whose leases run and who know the document, which does not exist. */
async function stageOf(...names: readonly string[]) {
  const stage = await scriptStage();
  const actors = names.map((name) => stage.actor(name));
  for (const actor of actors) await actor.beat();
  for (const actor of actors) await actor.swap();
  return { stage, server: stage.server, actors: actors as [Actor, Actor] };
}

describeWith(redisServer, 'a swap', () => {
  it('is carried out where the document is as its replica knows it, and else answers with the newest', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a, b] = actors;
    expect(await a.swap({ text: 'one' })).toMatchObject({ done: true, text: '' });
    expect(await b.swap({ text: 'two' })).toMatchObject({ done: false, text: 'one' });
    expect(await b.swap({ text: 'two' })).toMatchObject({ done: true, text: '' });
    expect(await a.swap()).toMatchObject({ done: false, text: 'two' });
    // Without a text it stays.
    expect(await a.swap()).toMatchObject({ done: true });
    expect(await b.swap({ text: 'three' })).toMatchObject({ done: true });
  });

  it('takes any text', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a, b] = actors;
    const text = '1 2 3 4 {"a":"\\n\u0000"}\n5 € "\\';
    await a.swap({ text });
    expect((await b.swap()).text).toBe(text);
  });

  it('is refused from a moment on, and has no effect then', async () => {
    const { actors, server, stage } = await stageOf('a', 'b');
    const [a, b] = actors;
    const before = await server.command('HGETALL', STATE);
    const told = {
      text: 'late',
      bid: 'late',
      bidMs: 1000,
      intents: { add: { w: { ms: 1, tags: ['t'] } } },
      messages: [{ text: '{"kind":"late"}', always: true }],
    };
    expect(await a.swap({ ...told, latest: a.now - 1 })).toMatchObject({ done: false });
    const after = (await server.command('HGETALL', STATE)) as Record<string, string>;
    expect(Object.keys(after)).toEqual(Object.keys(before as object));
    expect(stage.messages()).toEqual([]);
    expect((await b.swap()).bids).toEqual([]);
    expect(await a.swap({ ...told, latest: a.now + 60_000 })).toMatchObject({ done: true });
  });

  it('that was sent before Redis stood still is not carried out after that', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    const latest = a.now + 20;
    await setClock(server, 3000);
    expect(await a.swap({ text: 'old', latest })).toMatchObject({ done: false });
    a.upper = a.now + 100;
    await setClock(server, 3000);
    // The clock goes back for it, but it is late all the same.
    expect(await a.swap({ text: 'old', latest: a.upper + 1000 })).toMatchObject({ done: false });
    expect((await b.swap()).token).toBe('0/0');
  });

  it.each(['FLUSHALL', 'DEL'])('of a memory before %s is refused', async (command) => {
    const { actors, server } = await stageOf('a');
    const [a] = actors;
    await a.swap({ text: 'one' });
    const { epoch } = a;
    await server.command(...(command === 'DEL' ? ['DEL', STATE] : [command]));
    expect(await a.swap({ text: 'two' })).toMatchObject({ done: false, text: '', token: '0/0' });
    expect(a.epoch).not.toBe(epoch);
    expect((await a.swap()).ageMs).toBeLessThan(60_000);
  });

  it('does not take a document for one that was forgotten meanwhile', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    await a.swap({ text: 'one', forget: 1 });
    const { token } = a;
    await server.command('PING');
    for (let beats = 0; beats < 30; beats += 1) await b.beat();
    expect(await b.swap()).toMatchObject({ text: '', token: '0/0' });
    await b.swap({ text: 'one' });
    expect(b.token).not.toBe(token);
    expect(await a.swap({ text: 'two' })).toMatchObject({ done: false, text: 'one' });
  });

  it('leaves what is waited for beside the document, for as long as the replica lives and waits', async () => {
    const { actors, stage } = await stageOf('a', 'b');
    const [a, b] = actors;
    await a.swap({ text: 'one', bid: 'three reads', bidMs: 60_000 });
    expect((await b.swap()).bids).toEqual(['a', 'three reads']);
    const { token } = await b.swap({ bid: 'a write', bidMs: 60_000 });
    // A bid changes no document.
    expect((await a.swap({ bid: 'two reads', bidMs: 60_000 })).token).toBe(token);
    expect((await b.beat()).document).toEqual([
      token,
      0,
      '',
      ['a', 'two reads'],
      expect.any(String),
    ]);
    await a.swap({ bid: '' });
    expect((await b.swap()).bids).toEqual([]);
    await a.swap({ bid: 'again', bidMs: 60_000 });
    await a.goodbye();
    expect(await b.swap()).toMatchObject({ others: [], bids: [] });
    const next = stage.actor('a');
    await next.beat();
    expect(await b.swap()).toMatchObject({ others: ['a'], bids: [] });
    await next.swap();
    await next.swap({ bid: 'short', bidMs: 1 });
    await stage.server.command('PING');
    expect((await b.swap()).bids).toEqual([]);
  });

  it('is refused where others wait for something else than its replica knows, if that matters', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a, b] = actors;
    const { company } = await a.swap();
    await b.swap({ bid: 'a write', bidMs: 60_000 });
    expect(await a.swap({ text: 'one' })).toMatchObject({ done: true });
    const refused = await a.swap({ text: 'two', company });
    expect(refused).toMatchObject({ done: false, text: 'one', bids: ['b', 'a write'] });
    await b.swap({ bid: 'a write', bidMs: 70_000 });
    expect(await a.swap({ text: 'two', company: refused.company })).toMatchObject({ done: true });
    await b.goodbye();
    expect(await a.swap({ company: refused.company })).toMatchObject({ done: false, others: [] });
  });

  it('reports always, or only where another replica waits', async () => {
    const { actors, stage } = await stageOf('a', 'b');
    const [a, b] = actors;
    const messages = [
      { text: '{"kind":"always"}', always: true },
      { text: '{"kind":"sometimes"}', always: false },
    ];
    await a.swap({ bid: 'own', bidMs: 60_000, messages });
    await b.swap({ bid: 'reads', bidMs: 60_000 });
    await a.swap({ messages });
    expect(stage.messages().map(({ kind }) => kind)).toEqual(['always', 'always', 'sometimes']);
  });

  it('announces writes, which count as done when their time is over', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    const intents = async () => (await server.command('HGET', STATE, '!')) as string | null;
    const add = { short: { ms: 1, tags: ['s'] }, long: { ms: 1, tags: ['l'] } };
    await a.swap({ intents: { add: { ...add, gone: { ms: 1, tags: ['g'] } } } });
    await a.swap({ intents: { renew: { long: 70_000, unknown: 70_000 }, drop: ['gone'] } });
    expect(JSON.parse((await intents()) ?? '')).toMatchObject({
      long: { u: a.now + 70_000, t: ['l'] },
    });
    expect((await b.beat()).tags).toEqual(['s', '1']);
    await a.swap({ intents: { drop: ['long'] } });
    expect(await intents()).toBeNull();
  });
});

describeWith(redisServer, 'the clock of a document', () => {
  it('does not jump where the shared clock makes good what it has lost', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    const { now } = a;
    // What a sent before Redis stood still for 5 seconds holds the clock up.
    await setClock(server, 5000);
    a.upper = now + 100;
    await a.swap();
    a.upper = now + 4000;
    await a.swap();
    const { shift, done } = await a.swap({ text: 'noted while the clock was behind' });
    expect([shift, done]).toEqual([0, true]);
    const noted = a.now;
    a.upper = 0;
    // b knows what time it is: all of that was lost since then.
    b.lower = now + 4900;
    b.upper = now + 60_000;
    const known = await b.swap();
    expect(known.shift).toBeGreaterThan(3500);
    expect(b.now - known.shift).toBeLessThan(noted + 1000);
    // a has reckoned with another clock of the document.
    expect(await a.swap({ text: 'too late' })).toMatchObject({ done: false, shift: known.shift });
    expect(await a.swap({ text: 'again' })).toMatchObject({ done: true, shift: known.shift });
    expect(await b.swap()).toMatchObject({ text: 'again', shift: known.shift });
  });

  it('is the shared one where the document was written before anything was lost', async () => {
    const { actors, server } = await stageOf('a', 'b');
    const [a, b] = actors;
    await b.swap({ text: 'noted' });
    const { now } = a;
    await setClock(server, 5000);
    a.upper = now + 100;
    await a.swap();
    b.lower = now + 4900;
    b.upper = now + 60_000;
    expect((await b.swap()).shift).toBe(0);
  });
});

/** A number in a document. */
const numbers = {
  read: (text: string) => (text === 'nonsense' ? null : { count: Number(text) }),
  write: ({ count }: { count: number }) => String(count),
  keepMs: () => 60_000,
};

describeWith(redisServer, 'a shared document', () => {
  const documentOf = (replica: Actor) =>
    new SharedDocument({
      clock: systemClock,
      times: protocolTimes([60_000]),
      replica,
      name: DOCUMENT,
      form: numbers,
      heard: () => {},
    });

  it('loses no change, however many replicas make some at once', async () => {
    const { actors } = await stageOf('a', 'b', 'c', 'd');
    const documents = actors.map(documentOf);
    const numbered = await Promise.all(
      documents.flatMap((document) =>
        Array.from({ length: 25 }, async (_, n) => {
          // Not all in one turn: those would go together.
          for (let turn = 0; turn < n; turn += 1) await new Promise(setImmediate);
          return (await document.change((draft) => (draft.count += 1))).result;
        }),
      ),
    );
    expect(numbered.toSorted((x, y) => x - y)).toEqual(
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
  });

  it('is changed by one command for all that is asked for in a turn', async () => {
    const { actors } = await stageOf('a');
    const [a] = actors;
    const document = documentOf(a);
    await document.change(() => {});
    const { token } = document;
    let calls = 0;
    const { call } = a;
    a.call = (...args) => {
      calls += 1;
      return call(...args);
    };
    await Promise.all(
      Array.from({ length: 30 }, () => document.change((draft) => (draft.count += 1))),
    );
    expect([calls, document.known?.document]).toEqual([1, { count: 30 }]);
    expect(document.token).not.toBe(token);
    await document.change(() => {});
    expect(calls).toBe(2);
  });

  it('that cannot be read is a loss of memory, and nothing worse', async () => {
    const { actors } = await stageOf('a', 'b');
    const [a, b] = actors;
    await b.swap({ text: 'nonsense' });
    const { epoch } = b;
    await expect(documentOf(a).change(() => {})).rejects.toThrow('could not be read');
    await b.beat();
    expect(b.epoch).not.toBe(epoch);
    expect(await b.swap()).toMatchObject({ text: '' });
  });
});

describeWith(redisServer, 'what somebody else has written', () => {
  it.each([
    ['#', 'no JSON'],
    ['#', '{"id":"made up"}'],
    [`b:${DOCUMENT}`, '[]'],
    [`b:${DOCUMENT}`, '1 2 3 text'],
    ['@', '7'],
  ])('into %s: %s is a loss of memory, and nothing worse', async (field, text) => {
    const { actors, server } = await stageOf('a', 'b');
    const [a] = actors;
    const { epoch } = a;
    await server.command('HSET', STATE, field, text);
    await expect(a.swap()).rejects.toThrow('could not be read');
    await a.beat();
    expect(a.epoch).not.toBe(epoch);
    expect(await a.swap()).toMatchObject({ token: '0/0' });
  });
});
