import { describe, expect, it } from 'vitest';
import { keyedWrite } from '../support/keyed-write.ts';
import { createHistory } from './history-events.ts';

describe('The hour of writes', () => {
  it('counts writes with a key by their end, and lost ones without', async () => {
    const { clock, history } = createHistory();
    expect(history.writes.hourOf('LINKS')).toBeNull();
    history.keyed(keyedWrite());
    history.keyed(keyedWrite({ outcome: 'replayed' }));
    history.keyed(keyedWrite({ outcome: 'executed', resent: true }));
    history.keyed(keyedWrite({ outcome: 'reconciled', key: null }));
    history.keyed(keyedWrite({ outcome: 'unknown', key: null }));
    const none = { reconciled: 0, unknown: 0, rejected: 0, conflict_in_use: 0, reused: 0 };
    expect(history.writes.hourOf('LINKS')).toEqual({
      keyed: { executed: 2, replayed: 1, ...none },
      unkeyed: { reconciled: 1, unknown: 1 },
      resent: 1,
    });
    expect(history.writes.hourOf('MARKET')).toBeNull();
    await clock.advance(3_600_000);
    expect(history.writes.hourOf('LINKS')).toBeNull();
  });
});

describe('Unknown outcomes', () => {
  it('are kept with all that a person asks about, and with the end of a retry', async () => {
    const { clock, history } = createHistory();
    const at = clock.wall();
    history.keyed(keyedWrite({ outcome: 'unknown', settlesAt: at + 5000 }));
    const known = {
      at,
      upstream: 'LINKS',
      mutation: 'createChannel',
      key: '0a1b2c3d',
      caller: 'web',
      requestId: 'call-1',
      settlesAt: at + 5000,
    };
    expect(history.writes.unknown).toEqual([{ ...known, later: null }]);
    await clock.advance(6000);
    // Neither another key nor a call that was refused says anything of it.
    history.keyed(keyedWrite({ key: 'ffffffff' }));
    history.keyed(keyedWrite({ outcome: 'conflict_in_use' }));
    history.keyed(keyedWrite({ outcome: 'reused' }));
    expect(history.writes.unknown).toEqual([{ ...known, later: null }]);
    history.keyed(keyedWrite({ outcome: 'reconciled' }));
    history.keyed(keyedWrite({ outcome: 'replayed' }));
    const later = { outcome: 'reconciled', at: at + 6000 };
    expect(history.writes.unknown).toEqual([{ ...known, later }]);
  });

  it('have one entry for each key, and at most twenty', () => {
    const { history } = createHistory();
    for (const requestId of ['first', 'second']) {
      history.keyed(keyedWrite({ outcome: 'unknown', asker: { requestId, operation: null } }));
    }
    expect(history.writes.unknown.map(({ requestId }) => requestId)).toEqual(['second']);
    for (let n = 0; n < 30; n += 1) {
      history.keyed(keyedWrite({ outcome: 'unknown', key: null, mutation: `POST ${n}` }));
    }
    const mutations = history.writes.unknown.map(({ mutation }) => mutation);
    expect([mutations.length, mutations[0], mutations.at(-1)]).toEqual([20, 'POST 29', 'POST 10']);
  });
});

describe('The events of writes', () => {
  it('report what was done about a lost response, and nothing of usual writes', () => {
    const { history } = createHistory();
    for (const outcome of ['executed', 'replayed', 'rejected', 'conflict_in_use'] as const) {
      history.keyed(keyedWrite({ outcome }));
    }
    expect(history.log.latest).toEqual([]);
    history.keyed(keyedWrite({ outcome: 'reconciled' }));
    history.keyed(keyedWrite({ outcome: 'unknown', mutation: 'createPixel' }));
    history.keyed(keyedWrite({ resent: true, mutation: 'createDomain' }));
    history.keyed(keyedWrite({ outcome: 'reused', mutation: 'createUser' }));
    history.keysForgotten();
    const texts = history.log.latest.map(({ cause, kind, text }) => `${kind}: ${text}: ${cause}`);
    expect(texts).toEqual([
      'keys-forgotten: Idempotency keys were removed before their time, because the store is full.: null',
      'key-reused: Idempotency key reused: createUser: with other arguments',
      'sent-again: Sent again: createDomain: the first request had no effect',
      'outcome-unknown: Outcome unknown: createPixel: null',
      'reconciled: Reconciled createChannel: found after a lost response',
    ]);
    expect(history.log.latest.at(-1)).toMatchObject({
      callers: [{ caller: 'web' }],
      requestIds: ['call-1'],
    });
  });
});
