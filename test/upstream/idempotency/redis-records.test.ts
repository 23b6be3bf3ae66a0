import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/scheduling/clock.ts';
import { createSealing } from '../../../src/storage/sealing.ts';
import type { IdempotencyKey } from '../../../src/upstream/idempotency/idempotency-key.ts';
import type { Ambiguity, Claim, OwnedRecord } from '../../../src/upstream/idempotency/records.ts';
import type { RowLock } from '../../../src/upstream/idempotency/row-locks.ts';
import { RedisRecords } from '../../../src/upstream/idempotency/shared/redis-records.ts';
import { RedisRowLocks } from '../../../src/upstream/idempotency/shared/redis-row-locks.ts';
import { ProcessRecords } from '../../../src/upstream/idempotency/store/process-records.ts';
import { describeWith, redisServer } from '../../support/needs.ts';
import { clearUp } from '../../support/redis-connection.ts';
import { type ScriptStage, scriptStage } from '../../support/script-stage.ts';

afterEach(clearUp);

const STATE = '{gateway:1}:state';
const KEEP_MS = 86_400_000;
const sealing = createSealing('a-secret-that-all-the-replicas-know');

/** A replica, its records, and its wall clock, which is some milliseconds ahead. */
async function replicaOf(stage: ScriptStage, id: string, aheadMs = 0) {
  const actor = stage.actor(id);
  await actor.beat();
  await actor.swap();
  const clock = { ...systemClock, wall: () => systemClock.wall() + aheadMs };
  const digest = (text: string): string => sealing.name('digest', text);
  const own = new ProcessRecords({ clock, keepMs: KEEP_MS, maxBytes: 1e7, digest });
  const times = { beatMs: 20, leaseMs: 50, sendByMs: 300 };
  const rowLocks = new RedisRowLocks({ replica: actor, clock, times, digest });
  const records = new RedisRecords({
    replica: Object.assign(actor, {
      epochAgeMs: 3_600_000,
      toLocal: (shared: number) => clock.now() + shared - actor.now,
    }),
    clock,
    times,
    sealing,
    rowLocks,
    own,
    keepMs: KEEP_MS,
    maxBytes: 1e9,
  });
  return { actor, records, rowLocks };
}

async function stageOf(...names: readonly string[]) {
  const stage = await scriptStage();
  const replicas = [];
  for (const name of names) replicas.push(await replicaOf(stage, name));
  const [a, b] = replicas;
  if (!a || !b) throw new Error('two replicas');
  const stored = async (name = 'key') =>
    (await stage.server.command('HGET', STATE, `k:${name}`)) as string | null;
  return { stage, server: stage.server, a, b, stored };
}

const keyOf = (name = 'key', digest = 'content'): IdempotencyKey => ({
  name,
  scope: 'scope',
  upstream: 'LINKS',
  fingerprint: { secret: 'secret', digest },
  mutation: 'createChannel',
  madeAt: null,
  report: () => {},
});

/** The claim of a key that is not in use any more: Redis may not have the end of its use yet. */
async function settled({ records }: Party, key = keyOf()): Promise<Exclude<Claim, Busy>> {
  let claim = await records.claim(key);
  for (; claim.kind === 'busy'; claim = await records.claim(key)) await claim.ended;
  return claim;
}

type Busy = { readonly kind: 'busy' };
type Party = Awaited<ReturnType<typeof replicaOf>>;

async function owned(party: Party, key = keyOf()): Promise<OwnedRecord> {
  const claim = await settled(party, key);
  expect(claim.kind).toBe('owned');
  return (claim as Extract<Claim, { kind: 'owned' }>).record;
}

/** What a request is begun with, that is over a second later. */
function beginning({ records }: Party, of: Partial<Ambiguity> = {}): Ambiguity {
  const { now } = records;
  const none = { baseline: [1, 2], candidates: [], isAbsent: false };
  return { attempts: 1, sentAt: now, overAt: now + 1000, ...none, ...of };
}

/** Lets a write have its slot. */
async function granted({ actor }: Party, record: OwnedRecord, next: Ambiguity) {
  const slot = record.withSlot?.(next);
  if (!slot) throw new Error('no record');
  const { keepMs: ms, textAt, ...told } = slot;
  const text = textAt(actor.now);
  const records = [{ ...told, ms: Math.ceil(ms), id: 'w', text }];
  const { done, lost } = await actor.swap({ text: String(Math.random()), records });
  if (done) await record.sending(next);
  return { done, lost };
}

describeWith(redisServer, 'the records of replicas', () => {
  it('are claimed by one at a time, which the others wait for', async () => {
    const { a, b, stage } = await stageOf('a', 'b');
    const record = await owned(a);
    expect(await a.records.claim(keyOf())).toMatchObject({ kind: 'busy' });
    const claim = await b.records.claim(keyOf());
    expect(claim).toMatchObject({ kind: 'busy', retryAfterMs: 1000 });
    record.release();
    // Also without a message.
    await (claim as Extract<Claim, { kind: 'busy' }>).ended;
    const message = { kind: 'record', name: 'key', free: true, by: 'a' };
    expect(stage.messages()).toContainEqual(expect.objectContaining(message));
    await owned(b);
  });

  it('are claimed together with a row, if it is free on all replicas', async () => {
    const { a, b, server } = await stageOf('a', 'b');
    const locks = async () =>
      Object.keys(JSON.parse(((await server.command('HGET', STATE, '!')) as string) ?? '{}'));
    const claim = async ({ records }: Party, name: string): Promise<RowLock | undefined> => {
      const claimed = await records.claim(keyOf(name), 'row');
      expect(claimed.kind).toBe('owned');
      return claimed.kind === 'owned' ? claimed.record.lock : undefined;
    };
    const lock = await claim(a, 'one');
    expect(await locks()).toEqual(['x:row']);
    // The content of a creation is in Redis as a digest only.
    const creation = await a.records.claim(keyOf('creation'), 'creation secret');
    expect((await locks()).join()).toMatch(/x:creation [\w-]{22}/);
    if (creation.kind === 'owned') creation.record.lock?.release();
    await expect.poll(locks).toEqual(['x:row']);
    // Neither here nor there, and without a wait.
    expect(await claim(a, 'two')).toBeUndefined();
    expect(await claim(b, 'three')).toBeUndefined();
    // Nor by the writer of a key that is in use, or has other content.
    expect(await b.records.claim(keyOf('one'), 'row')).toMatchObject({ kind: 'busy' });
    const patient = { patienceMs: 60_000, signal: new AbortController().signal };
    const next = b.rowLocks.exclude('row', patient);
    lock?.release();
    (await next)?.release();
    await expect.poll(locks).toEqual([]);
    expect(await b.records.claim(keyOf('one', 'another'), 'row')).toEqual({ kind: 'reused' });
    expect(await b.records.claim(keyOf('one'), 'row')).toMatchObject({ kind: 'busy' });
    await expect.poll(locks).toEqual([]);
    (await claim(b, 'four'))?.release();
    await expect.poll(locks).toEqual([]);
  });

  it('answer all replicas with the outcome, also with other clocks', async () => {
    const { a, stage } = await stageOf('a', 'b');
    const c = await replicaOf(stage, 'c', 3_600_000);
    const record = await owned(a);
    expect(await granted(a, record, beginning(a))).toEqual({ done: true, lost: [] });
    record.ended({ kind: 'done', value: { id: 7 } });
    const outcome = { kind: 'done', value: { id: 7 } };
    expect(await settled(a, keyOf())).toMatchObject({ kind: 'final', outcome });
    const claim = await settled(c);
    expect(claim).toMatchObject({ kind: 'final', outcome });
    const { firstAt } = claim as Extract<Claim, { kind: 'final' }>;
    expect(Math.abs(firstAt - record.firstAt - 3_600_000)).toBeLessThan(60_000);
    expect(await c.records.claim(keyOf('key', 'another'))).toEqual({ kind: 'reused' });
  });

  it('know of other content while the key is in use, and after that', async () => {
    const { a, b } = await stageOf('a', 'b');
    const record = await owned(a);
    expect(await settled(b, keyOf('key', 'another'))).toEqual({ kind: 'reused' });
    await granted(a, record, beginning(a));
    record.unknown(beginning(a, { isAbsent: true }));
    expect(await settled(b, keyOf('key', 'another'))).toEqual({ kind: 'reused' });
    // That claim has changed nothing.
    expect((await owned(b)).ambiguity).toMatchObject({ attempts: 1, baseline: [1, 2] });
  });

  it('of a replica that is gone are taken over as what may have been sent', async () => {
    const { a, b, stored } = await stageOf('a', 'b');
    const record = await owned(a);
    const began = beginning(a);
    await granted(a, record, began);
    expect(await stored()).toMatch(/^a\.\S+ 1 /);
    await a.actor.goodbye();
    const taken = await owned(b);
    expect(taken.ambiguity).toMatchObject({ attempts: 1, baseline: [1, 2] });
    // It can have been sent as late as its slot allowed, and taken all its time then.
    const { overAt } = taken.ambiguity as Ambiguity;
    expect(overAt).toBeGreaterThanOrEqual(began.overAt + 300 - 5);
    // What the first one knows in the end counts.
    record.ended({ kind: 'done', value: 7 });
    taken.unknown(beginning(b, { isAbsent: true }));
    await expect.poll(() => stored()).toMatch(/^- 3 /);
    expect(await settled(b)).toMatchObject({ kind: 'final', outcome: { value: 7 } });
  });

  it('are not sent for by a replica that has stood still while another took over', async () => {
    const { a, b } = await stageOf('a', 'b');
    const record = await owned(a);
    await a.actor.goodbye();
    const other = await owned(b);
    expect(other.ambiguity).toBeNull();
    await a.actor.beat();
    await a.actor.swap();
    expect(await granted(a, record, beginning(a))).toEqual({ done: false, lost: ['w'] });
    record.release();
    expect(await granted(b, other, beginning(b))).toMatchObject({ done: true });
  });

  it('are as before when a slot was not used', async () => {
    const { a, b, stored } = await stageOf('a', 'b');
    const record = await owned(a);
    await granted(a, record, beginning(a));
    record.unsent();
    record.release();
    const next = await owned(b);
    expect(next.ambiguity).toBeNull();
    await granted(b, next, beginning(b));
    next.unknown(beginning(b));
    const again = await owned(b);
    await granted(b, again, beginning(b, { isAbsent: true }));
    again.unsent();
    again.release();
    expect((await owned(a)).ambiguity).toMatchObject({ attempts: 1 });
    expect(await stored()).toMatch(/^a\.\S+ 1 /);
  });

  it('are as before on other replicas too when a slot was not used', async () => {
    const { a, b, server, stage } = await stageOf('a', 'b');
    let heard = 0;
    /** Lets a replica hear the next messages of the other. */
    const hear = async ({ records }: Party, count: number) => {
      const all = () => stage.messages().filter(({ kind }) => kind === 'record');
      while (all().length < heard + count) await server.command('PING');
      for (const message of all().slice(heard)) records.recordedElsewhere(message as never);
      heard += count;
    };
    const record = await owned(a);
    await granted(a, record, beginning(a));
    record.unsent();
    record.release();
    await hear(b, 2);
    const next = await owned(b);
    expect(next.ambiguity).toBeNull();
    await b.actor.swap();
    await granted(b, next, beginning(b));
    next.unknown(beginning(b));
    await hear(a, 2);
    const again = await owned(a);
    await a.actor.swap();
    await granted(a, again, beginning(a, { isAbsent: true }));
    again.unsent();
    again.release();
    await hear(b, 2);
    expect((await owned(b)).ambiguity).toMatchObject({ attempts: 1 });
  });

  it('are published after a loss of data, and bar what was claimed meanwhile', async () => {
    const { a, b, server, stored } = await stageOf('a', 'b');
    const done = await owned(a, keyOf('done'));
    await granted(a, done, beginning(a));
    done.ended({ kind: 'rejected', reason: 'no' });
    const flying = await owned(a, keyOf('flying'));
    await granted(a, flying, beginning(a));
    const unsent = await owned(a, keyOf('unsent'));
    await server.command('FLUSHALL');
    await b.actor.swap();
    const claimed = await owned(b, keyOf('done'));
    await a.actor.swap();
    a.records.newEpoch();
    while ((await stored('flying')) === null) await server.command('PING');
    expect(await granted(b, claimed, beginning(b))).toMatchObject({ lost: ['w'] });
    claimed.release();
    expect(await settled(b, keyOf('done'))).toMatchObject({
      kind: 'final',
      outcome: { kind: 'rejected', reason: 'no' },
    });
    // It is still the one that waits for the response.
    await a.actor.beat();
    expect(await b.records.claim(keyOf('flying'))).toMatchObject({ kind: 'busy' });
    flying.ended({ kind: 'done', value: 1 });
    expect(await settled(b, keyOf('flying'))).toMatchObject({ kind: 'final' });
    // Nothing was sent for it: it needs another claim.
    expect(await granted(a, unsent, beginning(a))).toMatchObject({ lost: ['w'] });
  });

  it('of a replica that is gone are published by those that have heard of them', async () => {
    const { a, b, server, stage, stored } = await stageOf('a', 'b');
    const done = await owned(a, keyOf('done'));
    await granted(a, done, beginning(a));
    done.ended({ kind: 'done', value: 7 });
    const flying = await owned(a, keyOf('flying'));
    await granted(a, flying, beginning(a));
    const heard = () => stage.messages().filter(({ kind }) => kind === 'record');
    while (heard().length < 3) await server.command('PING');
    for (const message of heard()) b.records.recordedElsewhere(message as never);
    expect(await settled(b, keyOf('done'))).toMatchObject({ kind: 'final' });
    await server.command('FLUSHALL');
    await b.actor.swap();
    b.records.newEpoch();
    while ((await stored('flying')) === null) await server.command('PING');
    const c = await replicaOf(stage, 'c');
    expect(await settled(c, keyOf('done'))).toMatchObject({
      kind: 'final',
      outcome: { kind: 'done', value: 7 },
    });
    expect((await owned(c, keyOf('flying'))).ambiguity).toMatchObject({ attempts: 1 });
  });

  it('are published in batches, however many they are', async () => {
    const { a, b, server, stored } = await stageOf('a', 'b');
    for (let n = 0; n < 250; n += 1) {
      const record = await owned(a, keyOf(`key ${n}`.replace(' ', '-')));
      await record.sending(beginning(a));
      record.ended({ kind: 'done', value: n });
    }
    while (!(await stored('key-249'))?.startsWith('- 3 ')) await server.command('PING');
    await server.command('FLUSHALL');
    await a.actor.swap();
    let calls = 0;
    const { call } = a.actor;
    a.actor.call = (...args) => {
      calls += 1;
      return call(...args);
    };
    a.records.newEpoch();
    while ((await stored('key-249')) === null) await server.command('PING');
    expect(calls).toBe(3);
    await b.actor.swap();
    expect(await settled(b, keyOf('key-100'))).toMatchObject({ kind: 'final' });
  });

  it('cannot be claimed without Redis, get no slot then, and keep their outcome for later', async () => {
    const { a, b, server, stored } = await stageOf('a', 'b');
    const record = await owned(a);
    await granted(a, record, beginning(a));
    await server.kill();
    const another = await owned(a, keyOf('another'));
    record.ended({ kind: 'done', value: 1 });
    expect(await settled(a, keyOf())).toMatchObject({ kind: 'final' });
    await server.start();
    while ((await stored().catch(() => null)) === null) {
      a.records.again();
      await a.actor.swap().catch(() => {});
    }
    expect(await granted(a, another, beginning(a))).toMatchObject({ lost: ['w'] });
    another.release();
    await a.actor.beat();
    await b.actor.swap();
    expect(await settled(b, keyOf())).toMatchObject({ kind: 'final' });
  });

  it.each(['another version', 'of another secret', ''])(
    'that cannot be read are never sent for, and stay: %s',
    async (text) => {
      const { a, b, server, stored } = await stageOf('a', 'b');
      const until = a.actor.now + 1e6;
      const sealed = createSealing('another-secret-of-thirty-two-characters');
      const bytes = text === '' ? 'x' : sealed.seal('k:key', text).toString('base64');
      for (const [state, kept] of [
        [`- 1 0 ${until} ${bytes}`, `- 1 0 ${until} ${bytes}`],
        [`- 3 0 ${until} ${bytes}`, `- 3 0 ${until} ${bytes}`],
        ['2 another layout', '2 another layout'],
      ] as const) {
        await server.command('HSET', STATE, 'k:key', state);
        expect(await a.records.claim(keyOf())).toEqual({ kind: 'unreadable' });
        expect(await b.records.claim(keyOf())).toEqual({ kind: 'unreadable' });
        await b.records.claim(keyOf('barrier'));
        expect(await stored()).toBe(kept);
      }
    },
  );

  it('reveal nothing of their content', async () => {
    const { a, stored } = await stageOf('a', 'b');
    const record = await owned(a);
    await granted(a, record, beginning(a));
    record.ended({ kind: 'done', value: { title: 'Summer' } });
    const text = Buffer.from((await stored())?.split(' ').at(-1) ?? '', 'base64').toString();
    for (const word of ['Summer', 'createChannel', 'content']) expect(text).not.toContain(word);
  });
});
