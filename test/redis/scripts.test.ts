import { afterEach, expect, it } from 'vitest';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp } from '../support/redis-connection.ts';
import { setClock } from '../support/replicas/redis-insight.ts';
import { type Actor, type StageLimits, scriptStage } from '../support/script-stage.ts';

afterEach(clearUp);

/** A stage with so many replicas whose leases run, and the budget known not to be blind any more. */
async function stageOf(names: readonly string[], limits?: StageLimits) {
  const stage = await scriptStage(limits);
  const actors = names.map((name) => stage.actor(name));
  for (const actor of actors) await actor.beat();
  await stage.age();
  const [first] = actors as [Actor, ...Actor[]];
  await first.claim([{ id: 'first' }]);
  await first.ended('first');
  return { stage, actors: actors as [Actor, ...Actor[]] };
}

const reads = (count: number, of: object = {}) =>
  Array.from({ length: count }, (_, n) => ({ id: `read ${n}`, ...of }));

describeWith(redisServer, 'a claim', () => {
  it('is granted until the limit is reached, over all replicas', async () => {
    const { actors, stage } = await stageOf(['a', 'b'], { limit: 5 });
    const [a, b] = actors as [Actor, Actor];
    expect((await a.claim(reads(2))).verdicts).toEqual(['go', 'go']);
    const rest = await b.claim([{ id: 'x' }, { id: 'y' }, { id: 'z' }]);
    expect(rest).toMatchObject({ verdicts: ['go', 'go', ''], why: 'window' });
    expect((await stage.budget()).log).toHaveLength(5);
    await a.ended('read 0', { sent: false });
    expect((await b.claim([{ id: 'z' }])).verdicts).toEqual(['go']);
  });

  it('gets nothing before it is known what was sent, whatever made Redis forget', async () => {
    const { actors, stage } = await stageOf(['a']);
    const [a] = actors;
    const long = await scriptStage();
    expect((await long.actor('a').claim(reads(1))).why).toBe('late');
    for (const forget of [
      () => stage.server.command('FLUSHALL'),
      () => stage.server.command('DEL', '{gateway:1}:state'),
    ]) {
      const { epoch } = a;
      await forget();
      // As of another memory nothing is granted; what it has to say of the new one is heard.
      expect((await a.claim(reads(1))).verdicts).toEqual(['']);
      expect(a.epoch).not.toBe(epoch);
    }
    const other = long.actor('b');
    await other.beat();
    expect(await other.claim(reads(1))).toMatchObject({ verdicts: [''], why: 'quarantine' });
  });

  it('that was under way for too long gets nothing, and holds up the clock of all', async () => {
    const { actors } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    a.upper = a.now - 5000;
    expect(await a.claim(reads(1))).toMatchObject({ verdicts: [''], why: 'late' });
    a.upper = 0;
    const before = b.now;
    await b.beat();
    // It does not go back, though.
    expect(b.now).toBeGreaterThanOrEqual(before);
    expect((await a.claim(reads(1))).verdicts).toEqual(['go']);
  });

  it('keeps slots, leases and intents for as long as ever where the clock is set right meanwhile', async () => {
    const { actors, stage } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    const write = { id: 'write', lane: 'write', tags: ['t'] } as const;
    await a.beat();
    const { now } = a;
    // What a sent before Redis stood still for 5 seconds is carried out after that, and holds the clock up.
    await setClock(stage.server, 5000);
    a.upper = now + 100;
    expect((await a.claim(reads(1))).why).toBe('late');
    a.upper = now + 4000;
    expect((await a.claim([...reads(1), write])).verdicts).toEqual(['go', 'go']);
    await a.ended('read 0');
    await a.beat();
    const noted = a.now;
    // b knows what time it is.
    b.lower = now + 4900;
    b.upper = now + 60_000;
    await b.beat();
    const lost = b.now - noted;
    expect(lost).toBeGreaterThan(3500);
    expect((await b.touched(['another'])).others).toEqual(['a']);
    expect((await b.claim([{ id: 'b1' }])).verdicts).toEqual(['go']);
    const slot = (await stage.budget()).log.find(({ id }) => id === 'read 0');
    // A window, and the margin.
    expect(Number(slot?.['u'])).toBeGreaterThanOrEqual(b.now + 60_000 + 250 - 1000);
    // The intent lasts a second, which is not over.
    expect((await b.beat()).tags).not.toContain('t');
  });

  it('learns what time the clock may have lost where it is the first of a replica', async () => {
    const { actors, stage } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    await a.beat();
    const { now } = a;
    expect(a.lost).toBeNull();
    a.upper = now + 1000;
    await setClock(stage.server, 5000);
    expect((await a.claim(reads(1))).why).toBe('late');
    expect(a.lost).toBeNull();
    const next = stage.actor('next');
    await next.beat();
    expect(next.lost?.until).toBe(now);
    expect(next.lost?.ms).toBeGreaterThanOrEqual(4000);
    expect(next.lost?.ms).toBeLessThan(6000);
    // One that knows the clock sets it right.
    b.upper = now + 60_000;
    b.lower = now + 4000;
    await b.beat();
    const third = stage.actor('third');
    await third.beat();
    expect(third.lost?.until).toBe(now);
    expect(third.lost?.ms).toBeLessThan(3500);
    // By how much a clock was set back can only be known to those that were there before.
    await setClock(stage.server, -3_600_000);
    const fourth = stage.actor('fourth');
    await fourth.beat();
    const fifth = stage.actor('fifth');
    await fifth.beat();
    expect(fifth.lost?.until).toBe(fourth.now);
    expect(fifth.lost?.ms).toBeGreaterThanOrEqual(86_400_000);
  });

  it('goes on at the time that a replica knows it to be at least, where others were late', async () => {
    const { actors, stage } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    await b.ended('first', { sent: false });
    await b.claim([{ id: 'w', lane: 'write', tags: ['t'] }]);
    const { now } = b;
    // What was sent before Redis stood still for five seconds is carried out after that.
    const stood = now + 5000;
    await setClock(stage.server, 5000);
    a.upper = now + 100;
    expect(await a.claim(reads(1))).toMatchObject({ verdicts: [''], why: 'late' });
    expect(a.now).toBeLessThan(stood - 4000);
    // To one that was never heard of there is no time before.
    const stranger = stage.actor('stranger');
    stranger.lower = stood;
    await stranger.beat();
    expect(stranger.now).toBeLessThan(stood - 4000);
    b.upper = stood + 60_000;
    b.lower = stood;
    await b.beat();
    expect(b.now).toBeGreaterThanOrEqual(stood);
    a.upper = stood + 60_000;
    a.lower = 0;
    await a.beat();
    expect(a.now).toBeGreaterThanOrEqual(stood);
    expect(a.now).toBeLessThan(stood + 4000);
  });

  it('leaves other replicas their turns', async () => {
    const { actors } = await stageOf(['a', 'b'], { limit: 3 });
    const [a, b] = actors as [Actor, Actor];
    await a.claim(reads(2, { caller: 'noisy' }));
    // Both wait now, the quiet one behind the round that had begun.
    const noisy = (id: string) => a.claim([{ id, caller: 'noisy' }], { i: { noisy: 3 } });
    await noisy('n1');
    expect((await b.claim([{ id: 'q1', caller: 'quiet' }])).verdicts).toEqual(['']);
    await a.ended('read 0', { sent: false });
    expect((await noisy('n2')).verdicts).toEqual(['go']);
    await a.ended('read 1', { sent: false });
    expect(await noisy('n3')).toMatchObject({ verdicts: [''], why: 'turn' });
    expect((await b.claim([{ id: 'q2', caller: 'quiet' }])).verdicts).toEqual(['go']);
  });

  it('leaves no trace of callers who wait no more, however many come', async () => {
    const { actors, stage } = await stageOf(['a'], { limit: 1 });
    const [a] = actors;
    for (let n = 0; n < 50; n += 1) {
      await a.claim([{ id: `w${n}`, caller: `nobody ${n}` }]);
    }
    const { arrived, served } = await stage.budget();
    expect([Object.keys(arrived ?? {}), Object.keys(served ?? {})]).toEqual([
      ['nobody 49'],
      ['someone'],
    ]);
  });

  it('of a write goes before reads, and every fourth turn is a read’s', async () => {
    const wants = [
      ...reads(2),
      ...Array.from({ length: 5 }, (_, n) => ({ id: `w${n}`, lane: 'write' as const })),
    ];
    const order: string[] = [];
    const { actors } = await stageOf(['b'], { limit: 1 });
    const [b] = actors;
    await b.ended('first', { sent: false });
    let left = wants;
    while (left.length > 0) {
      const { verdicts } = await b.claim(left);
      const gone = left.filter((_, at) => verdicts[at] === 'go');
      order.push(...gone.map(({ id }) => id));
      left = left.filter((_, at) => verdicts[at] !== 'go');
      if (gone.length === 0) {
        await b.ended(order.at(-1) ?? 'first', { sent: false });
      }
    }
    expect(order).toEqual(['w0', 'w1', 'w2', 'read 0', 'w3', 'w4', 'read 1']);
  });

  it('of a refresh waits for readers anywhere, and leaves them a reserve', async () => {
    const { actors } = await stageOf(['a', 'b'], { limit: 30 });
    const [a, b] = actors as [Actor, Actor];
    const refresh = { id: 'r', lane: 'refresh' as const };
    await b.claim([], { i: { someone: 1 } });
    expect((await a.claim([refresh])).verdicts).toEqual(['']);
    await b.claim([]);
    expect((await a.claim([refresh])).verdicts).toEqual(['go']);
    await a.claim(reads(14));
    await a.claim(reads(13, { caller: 'other' }).map((each) => ({ ...each, id: `o ${each.id}` })));
    const refused = await a.claim([{ ...refresh, id: 'r2' }]);
    expect(refused.verdicts).toEqual(['']);
  });
});

describeWith(redisServer, 'a read', () => {
  it('that another replica asks for takes no slot, and one that landed of late neither', async () => {
    const { actors, stage } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    const want = { key: 'campaigns', tags: ['t'], ttl: 60_000 };
    await a.claim([{ ...want, id: 'a1' }]);
    expect((await b.claim([{ ...want, id: 'b1' }])).verdicts).toEqual(['join']);
    await a.ended('a1', { key: 'campaigns', kept: true });
    expect(stage.messages().at(-1)).toMatchObject({ kind: 'ended', key: 'campaigns', kept: true });
    expect((await b.claim([{ ...want, id: 'b2' }])).verdicts).toEqual(['landed']);
    // Whoever has that answer already wants a newer one.
    expect((await b.claim([{ ...want, id: 'b3', newer: b.now }])).verdicts).toEqual(['go']);
    await b.ended('b3', { sent: false });
    expect((await stage.budget()).log).toHaveLength(2);
  });

  it('that landed is told of for its ttl only, and as of the epoch that it was asked for in', async () => {
    const { actors, stage } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    const want = { key: 'campaigns', tags: ['t'] };
    await a.claim([{ ...want, id: 'a1' }]);
    await a.ended('a1', { key: 'campaigns', kept: true });
    await stage.server.command('PING');
    expect((await b.claim([{ ...want, id: 'b1', ttl: 0 }])).verdicts).toEqual(['go']);
    await b.ended('b1', { sent: false });
    // What it keeps was asked for before Redis lost its memory: nobody else may find it by that.
    await a.claim([{ ...want, id: 'a2', key: 'pixels' }]);
    await a.ended('a2', { key: 'pixels', kept: true, epoch: 'an epoch before' });
    expect(stage.messages().at(-1)).toMatchObject({ key: 'pixels', kept: false });
    const again = await b.claim([{ ...want, id: 'b2', key: 'pixels', ttl: 60_000 }]);
    expect(again.verdicts).toEqual(['go']);
  });

  it('is offered neither to one that is late nor to one that knows another memory', async () => {
    const { actors, stage } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    const want = { key: 'campaigns', tags: ['t'], ttl: 60_000 };
    await a.claim([{ ...want, id: 'a1' }]);
    const stranger = stage.actor('stranger');
    expect((await stranger.claim([{ ...want, id: 's1' }])).verdicts).toEqual(['']);
    b.upper = b.now - 5000;
    expect(await b.claim([{ ...want, id: 'b1' }])).toMatchObject({ verdicts: [''], why: 'late' });
    b.upper = 0;
    expect((await b.claim([{ ...want, id: 'b2' }])).verdicts).toEqual(['join']);
  });

  it('is asked for anew once a write has touched it, or its replica is not heard of any more', async () => {
    const { actors } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    const want = { key: 'campaigns', tags: ['t'], ttl: 60_000 };
    await a.claim([{ ...want, id: 'a1' }]);
    await b.touched(['t']);
    expect((await b.claim([{ ...want, id: 'b1' }])).verdicts).toEqual(['go']);
    await a.goodbye();
    await a.claim([{ ...want, id: 'a2', key: 'pixels' }]);
    expect((await b.claim([{ ...want, id: 'b2', key: 'pixels' }])).verdicts).toEqual(['go']);
  });
});

/** What stands of a permit in the budget's document. */
const permitIn = (log: readonly Record<string, unknown>[], id: string) =>
  log.find((permit) => permit['id'] === id);

describeWith(redisServer, 'time', () => {
  it('of a quarantine is the whole hold, to the end', async () => {
    const { actors, stage } = await stageOf(['a'], { hold: 70_000 });
    const [a] = actors;
    const since = async (ms: number): Promise<void> => {
      const text = (await stage.server.command('HGET', '{gateway:1}:state', '#')) as string;
      const epoch = JSON.stringify({ ...JSON.parse(text), since: a.now - ms });
      await stage.server.command('HSET', '{gateway:1}:state', '#', epoch);
    };
    await since(66_000);
    const { stop, why } = await a.claim(reads(1));
    expect(why).toBe('quarantine');
    expect(stop).toBeGreaterThan(0);
    expect(stop).toBeLessThanOrEqual(4000);
    await since(70_001);
    expect((await a.claim(reads(1))).verdicts).toEqual(['go']);
  });

  it('for which a permit counts is the hold, and after its request a window and its margin', async () => {
    const { actors, stage } = await stageOf(['a'], { window: 60_000, hold: 70_000 });
    const [a] = actors;
    await a.claim([{ id: 'p' }]);
    const granted = permitIn((await stage.budget()).log, 'p');
    expect(granted).toMatchObject({ u: a.now + 70_000, g: a.now, h: 1 });
    await a.ended('p', { ago: 1000 });
    expect(permitIn((await stage.budget()).log, 'p')).toMatchObject({
      u: a.now + 59_250,
      e: a.now,
    });
    await a.ended('forgotten', { ago: 500 });
    expect(permitIn((await stage.budget()).log, 'forgotten')).toMatchObject({ u: a.now + 59_750 });
  });

  it('of a lengthy request and of the intent of its write is the hold from each renewal on', async () => {
    const { actors, stage } = await stageOf(['a'], { hold: 70_000 });
    const [a] = actors;
    await a.claim([{ id: 'long', lengthy: true, lane: 'write', tags: ['t'] }]);
    const { now } = a;
    while (a.now === now) await a.renew('long');
    expect(permitIn((await stage.budget()).log, 'long')).toMatchObject({ u: a.now + 70_000 });
    const intents = (await stage.server.command('HGET', '{gateway:1}:state', '!')) as string;
    expect(JSON.parse(intents)).toEqual({ long: { u: a.now + 70_000, t: ['t'] } });
  });

  it('of a pause is what a refusal says, over all replicas', async () => {
    const { actors } = await stageOf(['a', 'b']);
    const [a, b] = actors as [Actor, Actor];
    await a.claim([{ id: 'p' }]);
    await a.ended('p', { refused: true, retry: 5000 });
    const { stop, verdicts, why } = await b.claim(reads(1));
    expect([verdicts, why]).toEqual([[''], 'paused']);
    expect(stop).toBeGreaterThan(4000);
    expect(stop).toBeLessThanOrEqual(5000);
  });
});

describeWith(redisServer, 'a permit', () => {
  it('ends once, however often that is told', async () => {
    const { actors, stage } = await stageOf(['a']);
    const [a] = actors;
    await a.claim([{ id: 'p' }]);
    const told = { limit: 30, remaining: 20 };
    await a.ended('p', told);
    const once = await stage.budget();
    await a.ended('p', told);
    const twice = await stage.budget();
    expect(twice.log).toHaveLength(once.log.length);
    expect(twice['co']).toEqual(once['co']);
  });

  it('whose replica ends without a word counts, and one of its permits for long', async () => {
    const { actors, stage } = await stageOf(['a', 'b'], { hold: 1 });
    const [a, b] = actors as [Actor, Actor];
    await a.claim(reads(3));
    // Each was given for `hold`, which is over with the next round trip here.
    await stage.server.command('PING');
    await b.claim(reads(1, { caller: 'other' }).map((each) => ({ ...each, id: 'b1' })));
    const held = (await stage.budget()).log.filter((permit) => permit['r'] === 'a' && permit['h']);
    expect(held).toMatchObject([{ x: 1 }]);
  });

  it.each([
    { limit: 3, most: 0 },
    { limit: 6, most: 1 },
    { limit: 30, most: 3 },
  ])(
    'of replicas that end without a word stays for at most $most of $limit',
    async ({ limit, most }) => {
      const { actors, stage } = await stageOf(['survivor'], { hold: 1, limit, window: 1 });
      const [survivor] = actors;
      for (let nth = 0; nth < 2 * limit; nth += 1) {
        const doomed = stage.actor(`doomed ${String(nth).padStart(2, '0')}`);
        await doomed.beat();
        for (let tries = 0; ; tries += 1) {
          const { verdicts } = await doomed.claim([{ id: `${doomed.id} ${tries}` }]);
          if (verdicts[0] === 'go') break;
          expect(tries).toBeLessThan(50);
        }
      }
      await stage.server.command('PING');
      const { view } = await survivor.claim([]);
      const { log } = await stage.budget();
      const ghosts = log.filter((permit) => permit['x']);
      expect(view).toMatchObject({ ghosts: most });
      // The oldest have given way to them.
      const latest = Array.from({ length: most }, (_, n) => `doomed ${2 * limit - most + n}`);
      expect(new Set(ghosts.map((permit) => permit['r']))).toEqual(
        new Set(latest.map((id) => id.replace(/ (\d)$/, ' 0$1'))),
      );
      if (most > 0) expect(Number(view['ghostsMs'])).toBeGreaterThan(590_000);
    },
  );

  it('of one that was only stopped counts as any other once it has ended', async () => {
    const { actors, stage } = await stageOf(['a', 'b'], { hold: 1 });
    const [a, b] = actors as [Actor, Actor];
    await a.claim([{ id: 'late' }]);
    await stage.server.command('PING');
    expect((await b.claim([])).view).toMatchObject({ ghosts: 1 });
    await a.ended('late');
    expect((await b.claim([])).view).toMatchObject({ ghosts: 0 });
    expect((await stage.budget()).log.map((permit) => permit['id'])).toEqual(['first', 'late']);
  });

  it('of a lengthy request lasts as long as it is renewed, and comes back when it was forgotten', async () => {
    const { actors, stage } = await stageOf(['a']);
    const [a] = actors;
    await a.claim([{ id: 'long', lengthy: true }]);
    await stage.server.command('FLUSHALL');
    await a.beat();
    await a.renew('long');
    expect((await stage.budget()).log).toMatchObject([{ id: 'long', l: 1 }]);
  });

  it('that was never sent leaves nothing behind, nor does its intent', async () => {
    const { actors, stage } = await stageOf(['a']);
    const [a] = actors;
    await a.claim([{ id: 'w', lane: 'write', tags: ['t'] }]);
    expect(await stage.server.command('HGET', '{gateway:1}:state', '!')).toContain('"t"');
    await a.ended('w', { sent: false });
    expect(await stage.server.command('HGET', '{gateway:1}:state', '!')).toBe(null);
    expect((await stage.budget()).log.map((permit) => permit['id'])).toEqual(['first']);
  });
});

describeWith(redisServer, 'a write', () => {
  it('whose replica is not heard of any more counts as done when its time is over', async () => {
    const { actors, stage } = await stageOf(['a', 'b'], { intent: 1 });
    const [a, b] = actors as [Actor, Actor];
    await a.claim([{ id: 'w', lane: 'write', tags: ['t'] }]);
    // A millisecond is over with a round trip or two.
    await stage.server.command('PING');
    expect((await b.beat()).tags).toEqual(['t', '1']);
    const { epoch } = b;
    expect(stage.messages()).toContainEqual({ kind: 'touch', epoch, n: 1, tags: ['t'] });
  });

  it('that takes long by its nature is under way for as long as its permit', async () => {
    const { actors, stage } = await stageOf(['a', 'b'], { intent: 1 });
    const [a, b] = actors as [Actor, Actor];
    await a.claim([{ id: 'w', lane: 'write', tags: ['t'], lengthy: true }]);
    await stage.server.command('PING');
    expect((await b.beat()).n).toBe(0);
  });

  it('that changed nothing touches nothing', async () => {
    const { actors, stage } = await stageOf(['a'], { intent: 1 });
    const [a] = actors;
    await a.claim([{ id: 'w', lane: 'write', tags: ['t'] }]);
    await a.ended('w', { withdraw: true });
    expect(await stage.server.command('HGET', '{gateway:1}:state', '!')).toBe(null);
  });

  it('is told with the replicas whose leases run, without those that said goodbye', async () => {
    const { actors } = await stageOf(['a', 'b', 'c']);
    const [a, b, c] = actors as [Actor, Actor, Actor];
    await c.goodbye();
    expect(await a.touched(['t'])).toEqual({ n: 1, others: ['b'] });
    expect((await b.beat(1)).tags).toEqual([]);
    expect((await b.beat(0)).tags).toEqual(['t', '1']);
  });
});

describeWith(redisServer, 'what somebody else has written', () => {
  it.each([
    ['#', 'no JSON'],
    ['#', '{"id":"made up"}'],
    ['b:LINKS:one', '[]'],
    ['b:LINKS:one', '{"log":5}'],
    ['@', '7'],
  ])('into %s: %s is a loss of memory, and nothing worse', async (field, text) => {
    const { actors, stage } = await stageOf(['a', 'b']);
    const [a] = actors;
    const { epoch } = a;
    await stage.server.command('HSET', '{gateway:1}:state', field, text);
    await expect(a.claim(reads(1))).rejects.toThrow('could not be read');
    await a.beat();
    expect(a.epoch).not.toBe(epoch);
    expect((await a.claim(reads(1))).why).toBe('quarantine');
  });
});
