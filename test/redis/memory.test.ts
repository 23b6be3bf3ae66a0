import { afterEach, expect, it } from 'vitest';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp } from '../support/redis-connection.ts';
import { STATE } from '../support/replicas/redis-insight.ts';
import { rollbacks } from '../support/replicas/rollback.ts';
import { type Actor, scriptStage } from '../support/script-stage.ts';

afterEach(clearUp);

const [, restore] = rollbacks as readonly [(typeof rollbacks)[number], (typeof rollbacks)[number]];
const ordinalOf = ({ epoch }: Actor) => Number(/^#(\d+)\./.exec(epoch)?.[1]);

/** Two replicas that know a document, in a memory of an hour. */
async function twoReplicas() {
  const stage = await scriptStage();
  const [a, b] = [stage.actor('a'), stage.actor('b')];
  for (const actor of [a, b]) await actor.beat();
  await stage.age();
  await a.swap();
  await a.swap({ text: 'first' });
  await b.swap();
  return { stage, server: stage.server, a, b };
}

/** Expects that a replica is told of a loss of memory, in which nothing is changed as of the one before. */
async function expectLoss(actor: Actor): Promise<void> {
  const { epoch } = actor;
  expect(await actor.swap({ text: 'after' })).toMatchObject({ done: false, text: '' });
  expect(actor.epoch).not.toBe(epoch);
  expect(await actor.swap()).toMatchObject({ done: true });
  await expectNew(actor);
}

/** Expects that what was there before is unknown to Redis, and that it says so. */
async function expectNew(actor: Actor): Promise<void> {
  expect((await actor.swap()).ageMs).toBeLessThan(60_000);
}

describeWith(redisServer, 'A Redis that goes back in time', () => {
  it.each(rollbacks)('by $name has lost its memory', async ({ keep, bring }) => {
    const { server, a, b } = await twoReplicas();
    await b.beat();
    await keep(server);
    expect((await a.swap({ text: 'spent' })).done).toBe(true);
    await bring(server);
    await expectLoss(a);
    // And so for those who had seen nothing of what is missing.
    const { epoch } = b;
    await b.beat();
    expect(b.epoch).not.toBe(epoch);
    await expectNew(b);
  });

  it('is found out by the one replica that knows it, whatever others have done since', async () => {
    const { server, a, b } = await twoReplicas();
    await restore.keep(server);
    await a.swap({ text: 'spent' });
    await restore.bring(server);
    // More scripts than had run when the state was newer.
    for (let nth = 0; nth < 20; nth += 1) await b.beat();
    await expectLoss(a);
  });

  it('to where a replica was not yet known is found out by that replica', async () => {
    const { stage, server, b } = await twoReplicas();
    await restore.keep(server);
    const late = stage.actor('late');
    await late.beat();
    await late.swap();
    await late.swap({ text: 'spent' });
    await restore.bring(server);
    for (let nth = 0; nth < 20; nth += 1) await b.beat();
    await expectLoss(late);
  });

  it('to an epoch before its own has lost its memory, and the next epoch is above both', async () => {
    const { server, a, b } = await twoReplicas();
    const first = ordinalOf(a);
    await restore.keep(server);
    await server.command('DEL', STATE);
    await a.beat();
    expect(ordinalOf(a)).toBe(first + 1);
    await restore.bring(server);
    await expectLoss(a);
    expect(ordinalOf(a)).toBe(first + 2);
    await b.beat();
    expect(b.epoch).toBe(a.epoch);
  });

  it('to another epoch of the same ordinal has lost its memory', async () => {
    const { server, a, b } = await twoReplicas();
    await restore.keep(server);
    // Each of them begins the next epoch, on another branch.
    await server.command('DEL', STATE);
    await a.beat();
    await restore.bring(server);
    await server.command('DEL', STATE);
    await b.beat();
    expect(ordinalOf(a)).toBe(ordinalOf(b));
    await expectLoss(a);
    expect(ordinalOf(a)).toBe(ordinalOf(b) + 1);
  });

  it.each([
    [
      'are lost',
      (stage: { command(...of: string[]): Promise<unknown> }) =>
        stage.command('DEL', '{gateway:1}:tags'),
    ],
    [
      'lack the latest write',
      (stage: { command(...of: string[]): Promise<unknown> }) =>
        stage.command('ZPOPMAX', '{gateway:1}:tags'),
    ],
  ])('where the tags alone %s has lost its memory', async (_, happen) => {
    const { server, a, b } = await twoReplicas();
    await b.touched(['one']);
    await b.touched(['two']);
    await happen(server);
    await expectLoss(a);
  });

  it('with nothing but what was asked again has lost nothing', async () => {
    const { server, a, b } = await twoReplicas();
    const { epoch } = a;
    // The replies to these are lost, and what was sent before them arrives behind them.
    const { seen } = a;
    for (let nth = 0; nth < 5; nth += 1) await a.beat();
    a.seen = seen;
    await a.beat();
    await server.command('DEBUG', 'RELOAD');
    for (const actor of [a, b]) await actor.beat();
    expect([a.epoch, b.epoch]).toEqual([epoch, epoch]);
    expect(await a.swap({ text: 'goes on' })).toMatchObject({ done: true });
  });

  it.each(['#1e99.x', `#${'9'.repeat(300)}.x`, '#9999999999999.x', '', '#.x'])(
    'is not stopped for good by an epoch that is called %s',
    async (id) => {
      const { server, a, b } = await twoReplicas();
      const before = ordinalOf(a);
      const epoch = JSON.parse((await server.command('HGET', STATE, '#')) as string);
      await server.command('HSET', STATE, '#', JSON.stringify({ ...epoch, id }));
      await expectLoss(a);
      expect(ordinalOf(a)).toBe(before + 1);
      await b.beat();
      expect(b.epoch).toBe(a.epoch);
      await b.swap();
      expect(await b.swap({ text: 'goes on' })).toMatchObject({ done: true });
    },
  );

  it('keeps what a replica has seen for as long as that replica asks for', async () => {
    const { server, stage, a, b } = await twoReplicas();
    expect(await server.command('HEXISTS', STATE, 's:b')).toBe(1);
    const gone = stage.actor('gone');
    await gone.beat();
    const seen = JSON.parse((await server.command('HGET', STATE, 's:gone')) as string) as number[];
    expect((seen[1] ?? 0) - gone.now).toBe(600_000);
    await server.command('HSET', STATE, 's:gone', JSON.stringify([seen[0], gone.now]));
    for (let nth = 0; nth < 50; nth += 1) await a.beat();
    expect(await server.command('HEXISTS', STATE, 's:gone')).toBe(0);
    expect(await server.command('HEXISTS', STATE, 's:b')).toBe(1);
    await b.beat();
    expect(b.epoch).toBe(a.epoch);
  });
});
