import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../../../src/scheduling/clock.ts';
import {
  callerInClass,
  classOf,
} from '../../../../src/upstream/budget/law/callers/caller-names.ts';
import { QueuedBudget } from '../../../../src/upstream/budget/queued-budget.ts';
import { Errand } from '../../../support/errands.ts';
import { ledgerStage } from '../../../support/ledger-stage.ts';
import { describeWith, redisServer } from '../../../support/needs.ts';
import { clearUp } from '../../../support/redis-connection.ts';

/** The class of jobs. */
const BULK_CLASS = 'bulk';

afterEach(clearUp);

const JOB = callerInClass('someone', BULK_CLASS);

/** Two replicas on one budget, of which it is known what is left. */
async function stageOf(limit = 30) {
  const stage = await ledgerStage({ limit });
  const [a, b] = [await stage.party('a'), await stage.party('b')];
  await stage.age();
  await a.claim([{ id: 'first' }]);
  await a.ended('first');
  return { a, b, stage };
}

const job = (id: string) => ({ id, lane: 'bulk' as const, caller: JOB });

describeWith(redisServer, 'the jobs of replicas', () => {
  it('have one request under way at a time, and ask seldom for the next', async () => {
    const { a, b, stage } = await stageOf();
    expect((await a.claim([job('a1')])).verdicts).toEqual(['go']);
    expect((await stage.budget()).held).toMatchObject([{ id: 'a1', bulk: true, caller: JOB }]);
    expect(await b.claim([job('b1')])).toEqual({ verdicts: [''], stopMs: 250 });
    await a.ended('a1');
    // It is the turn of the other replica, which waits.
    expect(await a.claim([job('a2')])).toEqual({ verdicts: [''], stopMs: 250 });
    expect((await b.claim([job('b2')])).verdicts).toEqual(['go']);
    const { answered, jobs } = await stage.budget();
    expect(answered.at(-1)).toMatchObject({ id: 'a1', bulk: true });
    expect(jobs?.classes).toEqual([[BULK_CLASS, 'b']]);
  });

  it('take turns by class, and then by replica', async () => {
    const { a, b, stage } = await stageOf();
    const agent = (id: string) => ({ ...job(id), caller: callerInClass('bot', 'agent') });
    const order: string[] = [];
    for (let n = 0; n < 12 && order.length < 6; n += 1) {
      for (const [name, party] of [['a', a] as const, ['b', b] as const]) {
        const wants = name === 'a' ? [agent(`a${n}`)] : [agent(`b${n}`), job(`c${n}`)];
        const { verdicts } = await party.claim(wants);
        const at = verdicts.indexOf('go');
        if (at < 0) continue;
        order.push(`${name} ${classOf(wants[at]?.caller ?? '')}`);
        await party.ended(wants[at]?.id ?? '');
      }
    }
    expect(order).toEqual(['a agent', 'b bulk', 'b agent', 'b bulk', 'a agent', 'b bulk']);
    expect((await stage.budget()).jobs?.classes).toEqual([
      ['agent', 'a'],
      [BULK_CLASS, 'b'],
    ]);
  });

  it('wait for people on any of them', async () => {
    const { a, b } = await stageOf(4);
    // Their minimum is used.
    await a.claim([job('a0')]);
    await a.ended('a0');
    await b.claim([], { interactive: [['mia', 2, 0]] });
    expect((await a.claim([job('a1')])).verdicts).toEqual(['']);
    await b.claim([]);
    expect((await a.claim([job('a2')])).verdicts).toEqual(['']);
  });

  it('are announced to the others, whose people leave them their minimum', async () => {
    const { a, b } = await stageOf(8);
    await a.claim([], { bulk: [[BULK_CLASS, 1]] });
    const reads = Array.from({ length: 9 }, (_, n) => ({ id: `b${n}`, caller: 'mia' }));
    const { verdicts } = await b.claim(reads);
    expect(verdicts.filter((verdict) => verdict === 'go')).toHaveLength(6);
    expect((await a.claim([job('a1')])).verdicts).toEqual(['go']);
  });

  it('are queued, and read what another replica has read', async () => {
    const { a, b } = await stageOf();
    const budget = new QueuedBudget(systemClock, b.store);
    const errand = new Errand(
      { clock: undefined as never, log: [] },
      { lane: 'bulk', caller: JOB },
    );
    const sharing = { key: 'campaigns', tags: ['t'], ttlMs: 60_000, newerThan: () => 0 };
    await a.claim([{ id: 'a1', key: 'campaigns', touches: ['t'], ttlMs: 60_000 }]);
    await b.claim([]);
    const turn = await budget.turn(Object.assign(errand, { sharing }));
    expect(turn.kind).toBe('elsewhere');
    expect((await b.store.document.change((document) => document.held.length)).result).toBe(1);
  });
});
