import { afterEach, expect, it } from 'vitest';
import type { Turn } from '../../../../src/upstream/budget/budget.ts';
import { QueuedBudget } from '../../../../src/upstream/budget/queued-budget.ts';
import { Errand } from '../../../support/errands.ts';
import { ledgerStage } from '../../../support/ledger-stage.ts';
import { describeWith, redisServer } from '../../../support/needs.ts';
import { clearUp } from '../../../support/redis-connection.ts';
import { DOCUMENT } from '../../../support/script-stage.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

afterEach(clearUp);

/** The queue of a replica over a real Redis; its claims are paced by a clock that only the test moves. */
async function queueOf(limit: number) {
  const clock = new VirtualClock();
  const stage = await ledgerStage({ clock, limit });
  const party = await stage.party('a');
  await stage.age();
  await party.claim([{ id: 'first' }]);
  await party.ended('first');
  const budget = new QueuedBudget(clock, party.store);
  const errand = (lane: 'interactive' | 'refresh') => new Errand({ clock, log: [] }, { lane });
  const kindOf = async (turn: Turn | Promise<Turn>) => (await turn).kind;
  const bid = () => stage.server.command('HGET', '{gateway:1}:state', `w:${DOCUMENT}:a`);
  return { bid, budget, clock, errand, kindOf };
}

describeWith(redisServer, 'a queue over Redis', () => {
  it('claims at once for what is there when a turn of the event loop ends', async () => {
    const { budget, errand, kindOf } = await queueOf(30);
    const turns = [1, 2, 3].map(() => budget.turn(errand('interactive')));
    expect(await Promise.all(turns.map(kindOf))).toEqual(['slot', 'slot', 'slot']);
    expect(budget.window.taken.filter(({ owner }) => owner === 'interactive')).toHaveLength(3);
  });

  it('claims within its pace for a refresh that a caller begins to wait for', async () => {
    const { bid, budget, clock, errand, kindOf } = await queueOf(6);
    // One refresh may go; the next one waits for the pace of refreshes.
    expect(await kindOf(budget.turn(errand('refresh')))).toBe('slot');
    const refresh = errand('refresh');
    const turn = budget.turn(refresh);
    await expect.poll(bid).not.toBeNull();
    budget.promote(refresh, 'someone');
    await clock.advance(50);
    expect(await kindOf(turn)).toBe('slot');
  });

  it('gives the slot of a request that was not sent to the next', async () => {
    const { budget, errand, kindOf } = await queueOf(2);
    const first = await budget.turn(errand('interactive'));
    const waiting = errand('interactive');
    const next = budget.turn(waiting);
    await expect.poll(() => waiting.delays.length).toBeGreaterThan(0);
    if (first.kind === 'slot') first.release();
    expect(await kindOf(next)).toBe('slot');
  });
});
