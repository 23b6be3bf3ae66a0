import { afterEach, expect, it } from 'vitest';
import { holdMs } from '../../../../src/redis/times.ts';
import {
  HOLD_MS,
  INTENT_MS,
  ledgerStage,
  type Party,
  times,
} from '../../../support/ledger-stage.ts';
import { describeWith, redisServer } from '../../../support/needs.ts';
import { clearUp } from '../../../support/redis-connection.ts';
import { setClock } from '../../../support/replicas/redis-insight.ts';
import { DOCUMENT } from '../../../support/script-stage.ts';

afterEach(clearUp);

const STATE = '{gateway:1}:state';
const WINDOW_MS = 60_000;
const shared = { kind: 'shared' } as const;

/** A stage with this many replicas whose leases run, where what is left is known. */
async function stageOf(names: readonly string[], limits?: { readonly limit?: number }) {
  const stage = await ledgerStage(limits);
  const parties: Party[] = [];
  for (const name of names) parties.push(await stage.party(name));
  await stage.age();
  const [first] = parties as [Party, ...Party[]];
  expect((await first.claim([{ id: 'first' }])).verdicts).toEqual(['go']);
  await first.ended('first');
  const intents = async (): Promise<Record<string, { u: number; t: string[] }> | null> => {
    const text = (await stage.server.command('HGET', STATE, '!')) as string | null;
    return text === null ? null : JSON.parse(text);
  };
  return { stage, intents, server: stage.server, parties: parties as [Party, Party] };
}

const reads = (count: number, of: object = {}, name = 'read') =>
  Array.from({ length: count }, (_, n) => ({ id: `${name} ${n}`, ...of }));

describeWith(redisServer, 'a claim', () => {
  it('is granted until the limit is reached, over all replicas', async () => {
    const { parties, stage } = await stageOf(['a', 'b'], { limit: 5 });
    const [a, b] = parties;
    expect((await a.claim(reads(2))).verdicts).toEqual(['go', 'go']);
    expect((await b.claim(reads(3, {}, 'b'))).verdicts).toEqual(['go', 'go', '']);
    expect((await stage.budget()).held).toHaveLength(4);
    await a.store.giveBack('read 0');
    expect((await b.claim([{ id: 'z' }])).verdicts).toEqual(['go']);
  });

  it('leaves nothing behind once its document is idle, though the other replica was faster', async () => {
    const { parties, stage } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    await a.claim(reads(3));
    await b.claim(reads(1, {}, 'b'));
    // What a knows of the document is outdated: its change is refused first.
    void a.store.giveBack('read 0');
    void a.store.giveBack('read 1');
    void a.store.giveBack('read 2');
    await a.store.document.idle();
    expect((await stage.budget()).held.map(({ id }) => id)).toEqual(['b 0']);
  });

  it('gets nothing before it is known what was sent, whatever made Redis forget', async () => {
    const { parties, server } = await stageOf(['a']);
    const [a] = parties;
    for (const command of [['FLUSHALL'], ['DEL', STATE]]) {
      const { epoch } = a.actor;
      await server.command(...command);
      expect((await a.claim(reads(1))).verdicts).toEqual(['']);
      expect(a.actor.epoch).not.toBe(epoch);
    }
  });

  it('waits out the whole quarantine, to the end', async () => {
    const { parties, server } = await stageOf(['a']);
    const [a] = parties;
    expect(holdMs(times, { windowMs: WINDOW_MS, timeoutMs: 6750 })).toBe(HOLD_MS);
    const since = async (ms: number): Promise<void> => {
      const text = (await server.command('HGET', STATE, '#')) as string;
      const epoch = JSON.stringify({ ...JSON.parse(text), since: a.actor.now - ms });
      await server.command('HSET', STATE, '#', epoch);
      await a.store.document.change(() => {});
    };
    await since(HOLD_MS - 500);
    const { stopMs, verdicts } = await a.claim(reads(1));
    expect(verdicts).toEqual(['']);
    expect(stopMs).toBeLessThanOrEqual(500);
    await since(HOLD_MS + 1);
    expect((await a.claim(reads(1))).verdicts).toEqual(['go']);
  });

  it('leaves other replicas their turns', async () => {
    const { parties } = await stageOf(['a', 'b'], { limit: 3 });
    const [a, b] = parties;
    await a.claim(reads(2, { caller: 'noisy' }));
    // Both wait now, the quiet one behind the round that had begun.
    const noisy = (id: string) =>
      a.claim([{ id, caller: 'noisy' }], { interactive: [['noisy', 3, 0]] });
    await noisy('n1');
    expect((await b.claim([{ id: 'q1', caller: 'quiet' }])).verdicts).toEqual(['']);
    await a.store.giveBack('read 0');
    expect((await noisy('n2')).verdicts).toEqual(['go']);
    await a.store.giveBack('read 1');
    expect(await noisy('n3')).toMatchObject({ verdicts: [''], stopMs: 20 });
    expect((await b.claim([{ id: 'q2', caller: 'quiet' }])).verdicts).toEqual(['go']);
  });

  it('leaves no trace of callers who wait no more, however many come', async () => {
    const { parties, server } = await stageOf(['a'], { limit: 1 });
    const [a] = parties;
    for (let n = 0; n < 20; n += 1) await a.claim([{ id: `w${n}`, caller: `nobody ${n}` }]);
    const all = JSON.stringify(await server.command('HGETALL', STATE));
    expect(all.match(/nobody \d+/g)).toEqual(['nobody 19']);
    await a.claim([]);
    expect(JSON.stringify(await server.command('HGETALL', STATE))).not.toContain('nobody');
  });

  it('of a refresh waits for readers anywhere', async () => {
    const { parties } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    const refresh = { id: 'r', lane: 'refresh' as const };
    await b.claim([], { interactive: [['someone', 1, 0]] });
    expect((await a.claim([refresh])).verdicts).toEqual(['']);
    await b.claim([]);
    expect((await a.claim([refresh])).verdicts).toEqual(['go']);
  });
});

describeWith(redisServer, 'a read', () => {
  const want = { key: 'campaigns', touches: ['t'], ttlMs: 60_000 };

  it('that another replica asks for takes no slot, and one that landed of late neither', async () => {
    const { parties, stage } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    await a.claim([{ ...want, id: 'a1' }]);
    expect((await b.claim([{ ...want, id: 'b1' }])).verdicts).toEqual(['join']);
    await a.ended('a1', { key: 'campaigns', result: shared });
    expect(stage.messages().at(-1)).toMatchObject({ kind: 'ended', key: 'campaigns', kept: true });
    expect((await b.claim([{ ...want, id: 'b2' }])).verdicts).toEqual(['landed']);
    // A caller that has that answer already wants a newer one.
    expect((await b.claim([{ ...want, id: 'b3', newer: b.actor.now }])).verdicts).toEqual(['go']);
    await b.store.giveBack('b3');
    const { answered, held } = await stage.budget();
    expect([answered.length, held.length]).toEqual([2, 0]);
  });

  it('that landed is told of for its ttl only, and as of the epoch that it was asked for in', async () => {
    const { parties, stage } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    await a.claim([{ ...want, id: 'a1' }]);
    await a.ended('a1', { key: 'campaigns', result: shared });
    expect((await b.claim([{ ...want, id: 'b1', ttlMs: 0 }])).verdicts).toEqual(['go']);
    await b.store.giveBack('b1');
    // What it keeps was asked for before Redis lost its memory: no other replica may find it by that.
    await a.claim([{ ...want, id: 'a2', key: 'pixels' }]);
    await a.ended('a2', { key: 'pixels', result: shared, epoch: 'an epoch before' });
    expect(stage.messages().at(-1)).toMatchObject({ key: 'pixels', kept: false });
    expect((await b.claim([{ ...want, id: 'b2', key: 'pixels' }])).verdicts).toEqual(['go']);
  });

  it('is requested again once a write has touched it, or its replica is not heard of any more', async () => {
    const { parties } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    await a.claim([{ ...want, id: 'a1' }]);
    await b.actor.touched(['t']);
    expect((await b.claim([{ ...want, id: 'b1' }])).verdicts).toEqual(['go']);
    await a.claim([{ ...want, id: 'a2', key: 'pixels' }]);
    expect((await b.claim([{ ...want, id: 'b2', key: 'pixels' }])).verdicts).toEqual(['join']);
    await a.actor.goodbye();
    expect((await b.claim([{ ...want, id: 'b3', key: 'pixels' }])).verdicts).toEqual(['go']);
  });
});

describeWith(redisServer, 'a write', () => {
  const write = { lane: 'write', touches: ['t'] } as const;
  const recordOf = (name: string, token: string) => {
    return { name, token, sent: 1, textAt: String, keepMs: 60_000 };
  };

  it('with a key gets its slot together with its record, or is lost where another has that', async () => {
    const { parties, server } = await stageOf(['a', 'b'], { limit: 5 });
    const [a, b] = parties;
    await a.actor.claim('key', 'a.1');
    await b.actor.claim('other', 'b.1');
    const wants = [
      { ...write, id: 'lost', record: recordOf('other', 'a.2') },
      { ...write, id: 'keyed', record: recordOf('key', 'a.1') },
      { ...write, id: 'plain' },
    ];
    expect((await a.claim(wants)).verdicts).toEqual(['lost', 'go', 'go']);
    const { now } = a.actor;
    const stored = String(await server.command('HGET', STATE, 'k:key'));
    // The text is that of the time at which the slot was granted.
    expect(stored).toMatch(/^a\.1 1 0 \d+ \d+$/);
    expect(Math.abs(Number(stored.split(' ').at(-1)) - now)).toBeLessThan(60_000);
    expect(await server.command('HGET', STATE, 'k:other')).toContain('b.1 0 ');
    // The lost one leaves nothing behind.
    expect((await b.claim(reads(3, {}, 'b'))).verdicts).toEqual(['go', 'go', '']);
  });

  it('with a key that gets no slot writes nothing', async () => {
    const { parties, server } = await stageOf(['a'], { limit: 2 });
    const [a] = parties;
    await a.actor.claim('key', 'a.1');
    await a.claim([{ id: 'read' }]);
    const want = { ...write, id: 'keyed', record: recordOf('key', 'a.1') };
    expect((await a.claim([want])).verdicts).toEqual(['']);
    expect(await server.command('HGET', STATE, 'k:key')).toContain('a.1 0 ');
  });

  it('waits while another replica has locked its row, and holds up no one else', async () => {
    const { parties, intents } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    await b.actor.lock('row', 'b.1');
    const wants = [
      { ...write, id: 'excluded', row: 'row' },
      { ...write, id: 'another', row: 'other row' },
      { id: 'read' },
    ];
    const { stopMs, verdicts } = await a.claim(wants);
    expect(verdicts).toEqual(['', 'go', 'go']);
    expect(stopMs).toBeLessThanOrEqual(250);
    expect(Object.keys((await intents()) ?? {})).toEqual(
      expect.arrayContaining(['x:row', 'another']),
    );
    await b.actor.unlock('row', 'b.1');
    expect((await a.claim([{ ...write, id: 'again', row: 'row' }])).verdicts).toEqual(['go']);
    // The one that locks it waits for that.
    expect(await b.actor.lock('row', 'b.2')).toBe('waits');
    await a.store.giveBack('again');
    expect(await b.actor.lock('row', 'b.2')).toBe('locked');
  });

  it('under a lock is lost where the lock is', async () => {
    const { parties } = await stageOf(['a']);
    const [a] = parties;
    await a.actor.lock('row', 'a.1');
    const under = (id: string, lock: string) => ({ ...write, id, row: 'row', lock });
    expect((await a.claim([under('w', 'a.1')])).verdicts).toEqual(['go']);
    expect((await a.claim([under('v', 'a.0')])).verdicts).toEqual(['lost']);
  });
});

describeWith(redisServer, 'time', () => {
  it('for which a permit counts is the hold, and after its request a window and its margin', async () => {
    const { parties, stage } = await stageOf(['a']);
    const [a] = parties;
    await a.claim([{ id: 'p' }]);
    const [granted] = (await stage.budget()).held;
    expect((granted?.until ?? 0) - (granted?.grantedAt ?? 0)).toBeGreaterThanOrEqual(HOLD_MS);
    expect(granted?.until).toBeLessThan(a.actor.now + HOLD_MS + 1000);
    await a.ended('p');
    const answered = (await stage.budget()).answered.find(({ id }) => id === 'p');
    expect((answered?.until ?? 0) - (answered?.endedAt ?? 0)).toBeGreaterThanOrEqual(
      WINDOW_MS + 250,
    );
    expect(answered?.until).toBeLessThan(a.actor.now + WINDOW_MS + 1250);
    await a.ended('forgotten');
    expect((await stage.budget()).answered.map(({ id }) => id)).toContain('forgotten');
  });

  it('of a lengthy request and of the intent of its write is the hold from each renewal on', async () => {
    const { intents, parties, server, stage } = await stageOf(['a']);
    const [a] = parties;
    await a.claim([{ id: 'long', lengthy: true, lane: 'write', touches: ['t'] }]);
    expect((await intents())?.['long']?.u).toBeGreaterThan(a.actor.now + HOLD_MS - 1000);
    await setClock(server, 20_000);
    await a.actor.beat();
    await a.store.renew('long');
    const [slot] = (await stage.budget()).held;
    expect(slot?.until).toBeGreaterThan(a.actor.now + HOLD_MS - 1000);
    expect((await intents())?.['long']?.u).toBeGreaterThan(a.actor.now + HOLD_MS - 1000);
    await server.command('FLUSHALL');
    await a.actor.beat();
    await a.store.renew('long');
    expect((await stage.budget()).held).toMatchObject([{ id: 'long', lengthy: true }]);
  });

  it('of a pause is what a refusal says, over all replicas', async () => {
    const { parties } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    await a.claim([{ id: 'p' }]);
    await a.ended('p', { feedback: { refused: { retryAfterMs: 900 } } });
    const { stopMs, verdicts } = await b.claim(reads(1));
    expect(verdicts).toEqual(['']);
    expect(stopMs).toBeGreaterThan(100);
    expect(stopMs).toBeLessThanOrEqual(900);
  });

  it('that the shared clock makes good frees no slot early', async () => {
    const { parties, server } = await stageOf(['a', 'b'], { limit: 1 });
    const [a, b] = parties;
    const { now } = a.actor;
    // What a sent before Redis stood still for 5 seconds is carried out after that, and holds the clock up.
    await setClock(server, 5000);
    a.actor.upper = now + 100;
    await a.actor.beat();
    a.actor.upper = 0;
    await a.ended('second');
    // b knows what time it is: five seconds were lost when that was noted.
    b.actor.lower = now + 4900;
    b.actor.upper = now + 60_000;
    await b.actor.beat();
    b.actor.lower = 0;
    b.actor.upper = 0;
    await setClock(server, WINDOW_MS - 1000);
    expect((await b.claim(reads(1))).verdicts).toEqual(['']);
    await setClock(server, 2000);
    expect((await b.claim(reads(1))).verdicts).toEqual(['go']);
  });
});

describeWith(redisServer, 'a permit', () => {
  it('ends once, however often that is told', async () => {
    const { parties, stage } = await stageOf(['a']);
    const [a] = parties;
    await a.claim([{ id: 'p' }]);
    const feedback = { limit: 30, remaining: 20 };
    await a.ended('p', { feedback });
    const once = await stage.budget();
    await a.ended('p', { feedback });
    expect(await stage.budget()).toEqual(once);
  });

  it('whose replica ends without a word counts, and one of its permits for long', async () => {
    const { parties, server, stage } = await stageOf(['a', 'b']);
    const [a, b] = parties;
    await a.claim(reads(3));
    await setClock(server, HOLD_MS + 1000);
    await b.claim([{ id: 'b1', caller: 'other' }]);
    const { held } = await stage.budget();
    expect(held.filter(({ owner }) => owner === 'a')).toMatchObject([{ ghost: true }]);
    // It was only stopped, and has sent its request.
    await a.ended('read 2');
    expect((await stage.budget()).held.map(({ id }) => id)).toEqual(['b1']);
  });

  it('that was never sent leaves nothing behind, nor does a write that changed nothing', async () => {
    const { intents, parties, stage } = await stageOf(['a']);
    const [a] = parties;
    const write = { lane: 'write', touches: ['t'] } as const;
    await a.claim([{ id: 'w', ...write }]);
    expect((await intents())?.['w']).toMatchObject({ t: ['t'] });
    expect((await intents())?.['w']?.u).toBeLessThanOrEqual(a.actor.now + INTENT_MS);
    await a.store.giveBack('w');
    expect(await intents()).toBeNull();
    expect((await stage.budget()).held).toEqual([]);
    await a.claim([{ id: 'v', ...write }]);
    await a.ended('v', { result: { kind: 'nothing' } });
    expect(await intents()).toBeNull();
  });

  it('may have been given where no reply came, and is given back then', async () => {
    const { parties, server, stage } = await stageOf(['a']);
    const [a] = parties;
    const { call } = a.actor;
    a.actor.call = async (...args) => {
      await call(...args);
      throw new Error('no reply');
    };
    await expect(
      a.store.ask([{ id: 'lost', lane: 'interactive', caller: 'a' }], {
        write: [],
        interactive: [['a', 1, 0]],
        refreshes: 0,
        oldestMs: 0,
        bulk: [],
      }),
    ).rejects.toThrow('no reply');
    a.actor.call = call;
    expect((await stage.budget()).held).toMatchObject([{ id: 'lost' }]);
    await server.command('PING');
    await a.store.giveBack('lost');
    expect((await stage.budget()).held).toEqual([]);
  });
});

describeWith(redisServer, 'a budget that somebody else has written', () => {
  it.each(['[]', '{"held":5}', '{"limit":"30"}', 'no JSON'])(
    '%s is a loss of memory, and nothing worse',
    async (text) => {
      const { parties, server } = await stageOf(['a']);
      const [a] = parties;
      const { epoch } = a.actor;
      await server.command('HSET', STATE, `b:${DOCUMENT}`, `1 0 0 9000000000000 ${text}`);
      await expect(a.claim(reads(1))).rejects.toThrow('could not be read');
      const { verdicts } = await a.claim(reads(1));
      expect(verdicts).toEqual(['']);
      expect(a.actor.epoch).not.toBe(epoch);
    },
  );
});
