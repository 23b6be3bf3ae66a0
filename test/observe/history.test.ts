import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHistory } from './history-events.ts';

const MINUTE = 60_000;

const sumOf = (rows: ReadonlyMap<string, { readonly sends?: number }>): number =>
  [...rows.values()].reduce((sum, { sends = 0 }) => sum + sends, 0);

describe('The minutes of a history', () => {
  it('leave nothing behind that is older than they are, however long nothing happens', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 90 * MINUTE }), { maxLength: 12 }),
        async (gaps) => {
          const { clock, send, history } = createHistory();
          const moments: number[] = [];
          for (const gap of gaps) {
            await clock.advance(gap);
            send();
            moments.push(clock.now());
          }
          const first = Math.floor(clock.now() / MINUTE) - 59;
          const expected = Array.from({ length: 60 }, () => 0);
          for (const moment of moments) {
            const at = Math.floor(moment / MINUTE) - first;
            if (at >= 0) (expected[at] as number) += 1;
          }
          expect(history.sends('LINKS').interactive).toEqual(expected);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('contain the maximum of waiting requests, also in minutes without a change', async () => {
    const { clock, history } = createHistory();
    history.queue({ upstream: 'LINKS', change: 1 });
    history.queue({ upstream: 'LINKS', change: 1 });
    await clock.advance(2.2 * MINUTE);
    history.queue({ upstream: 'LINKS', change: -1 });
    await clock.advance(MINUTE);
    history.queue({ upstream: 'LINKS', change: -1 });
    // It got its slot in the moment in which it asked for one.
    history.queue({ upstream: 'LINKS', change: 1 });
    history.queue({ upstream: 'LINKS', change: -1 });
    await clock.advance(MINUTE);
    expect(history.sends('LINKS').maxQueued.slice(-5)).toEqual([2, 2, 2, 1, 0]);
  });
});

describe('The hour of a history', () => {
  it('removes counts after 59 to 60 minutes', async () => {
    const { clock, send, history } = createHistory();
    for (let minute = 0; minute < 90; minute += 1) {
      send();
      history.reads({ upstream: 'LINKS', resource: 'channels', result: 'hit', times: 1 });
      history.answeredInBulk({ remembered: 1, names: new Map(), maxAgeMs: 0 });
      await clock.advance(MINUTE);
    }
    expect(sumOf(history.hour.spenders)).toBe(59);
    expect(history.hour.resources.get('LINKS channels')).toMatchObject({ hits: 59 });
    await clock.advance(3 * 60 * MINUTE);
    expect([history.hour.spenders.size, history.hour.resources.size]).toEqual([0, 0]);
  });

  it('takes a request that did not leave out of the minute in which it was counted', async () => {
    const { clock, leave, history } = createHistory();
    await clock.advance(MINUTE - 1 - (clock.now() % MINUTE));
    const ends = leave({ lane: 'refresh' });
    await clock.advance(2);
    ends('LATE');
    expect(sumOf(history.hour.spenders)).toBe(0);
    expect(history.hour.resources.get('LINKS channels')?.renewals).toBe(0);
  });

  it('counts what was forgotten for newer names under others', () => {
    const { send, end, history } = createHistory();
    for (let n = 0; n < 1000; n += 1) {
      end(`Made${n}`);
      send({ caller: `caller ${n}` });
    }
    const { operations, spenders } = history.hour;
    expect([operations.size, spenders.size]).toEqual([100, 100]);
    expect(operations.get('')).toMatchObject({ runs: 901, saved: 1802 });
    expect(spenders.get('')).toEqual({ sends: 901 });
    expect(sumOf(spenders)).toBe(1000);
  });
});

describe('The events of a history', () => {
  it('are grouped, with their callers and request ids', async () => {
    const { clock, end, history } = createHistory();
    for (let n = 0; n < 19; n += 1) {
      end('Search', { ...fails, caller: n < 17 ? 'noisy' : 'web', requestId: `r${n}` });
      await clock.advance(1000);
    }
    end('Cart', fails);
    const [cart, search] = history.log.latest;
    expect(cart).toMatchObject({ text: 'Cart', cause: 'UPSTREAM_TIMEOUT', count: 1 });
    expect(search).toEqual({
      kind: 'operation-failed',
      text: 'Search',
      cause: 'UPSTREAM_TIMEOUT',
      count: 19,
      firstAt: clock.wall() - 19_000,
      at: clock.wall() - 1000,
      callers: [{ caller: 'web' }, { caller: 'noisy' }],
      requestIds: ['r18', 'r17', 'r16', 'r15', 'r14', 'r13', 'r12', 'r11', 'r10', 'r9'],
    });
  });

  it('begin another group after five minutes without one', async () => {
    const { clock, end, history } = createHistory();
    for (const pause of [5 * MINUTE - 1, 5 * MINUTE, 0]) {
      end('Search', fails);
      await clock.advance(pause);
    }
    expect(history.log.latest.map(({ count }) => count)).toEqual([1, 2]);
  });

  it('name keys that were removed before their time', () => {
    const { history } = createHistory();
    history.keysForgotten();
    expect(history.log.latest).toMatchObject([{ kind: 'keys-forgotten', cause: null }]);
  });

  it('of one kind leave those of the others, however many there are', () => {
    const { end, history, send } = createHistory();
    send({ code: 'UPSTREAM_TIMEOUT', caller: 'web' });
    history.listening({ version: '1.0.0' });
    for (let n = 0; n < 10_000; n += 1) end(`F${n}`, fails);
    const { latest } = history.log;
    expect(latest.filter(({ kind }) => kind === 'operation-failed')).toHaveLength(12);
    expect(latest.slice(12)).toMatchObject([
      { kind: 'started', text: 'Version 1.0.0 started.' },
      {
        kind: 'failed',
        text: 'The link-management API: GET channels',
        cause: 'UPSTREAM_TIMEOUT',
        callers: [{ caller: 'web' }],
      },
    ]);
  });
});

describe('The last five minutes of a history', () => {
  it.each([
    [4, 'ok'],
    [5, 'degraded'],
    [19, 'degraded'],
    [20, 'failing'],
  ])('of which %i %% failed are %s', (failed, level) => {
    const { end, history } = createHistory();
    for (let n = 0; n < failed; n += 1) end('Search', exhausted);
    for (let n = failed; n < 100; n += 1) end('Fine');
    expect(history.recent.level).toBe(level);
  });

  it('are neither better nor worse for mistakes of callers, and for callers who hang up', () => {
    const { end, history } = createHistory();
    end('Fine');
    end('Search', exhausted);
    for (const code of MISTAKES) end('Wrong', { outcome: 'failed', codes: [code] });
    end('Left', { outcome: 'canceled', codes: ['BUDGET_EXHAUSTED'] });
    expect(history.recent).toMatchObject({ operations: 2, failed: 1, rejected: MISTAKES.length });
  });

  it('count what was answered from memory, and how old that was', async () => {
    const { clock, end, history } = createHistory();
    end('Search', exhausted);
    const names = new Map([['Home', { runs: 99, saved: 99 }]]);
    history.answeredInBulk({ remembered: 99, names, maxAgeMs: 7000 });
    history.reads({ upstream: 'LINKS', resource: 'channels', result: 'hit', times: 99 });
    history.reads({ upstream: 'LINKS', resource: 'channels', result: 'miss', times: 1 });
    expect(history.recent).toMatchObject({
      operations: 100,
      failed: 1,
      level: 'ok',
      reads: 100,
      hits: 99,
      maxAgeMs: 7000,
    });
    await clock.advance(5 * MINUTE);
    expect(history.recent).toMatchObject({ operations: 0, codes: [], reads: 0, maxAgeMs: 0 });
  });

  it('name those who fail most and spend most among ten thousand callers', () => {
    const { end, history, send } = createHistory();
    for (let n = 0; n < 10_000; n += 1) {
      const caller = n % 2 === 0 ? 'noisy' : `caller ${n}`;
      send({ caller });
      end(`Made${n}`, { ...exhausted, caller });
    }
    const { codes, failed, sends, spenders } = history.recent;
    expect([failed, sends]).toEqual([10_000, 10_000]);
    expect(spenders[0]).toEqual({ caller: 'noisy', count: 5000 });
    expect(codes).toMatchObject([{ code: 'BUDGET_EXHAUSTED', failed: 10_000 }]);
    expect(codes[0]?.callers[0]).toEqual({ caller: 'noisy', count: 5000 });
  });
});

const fails = { outcome: 'failed', codes: ['UPSTREAM_TIMEOUT'] } as const;
const exhausted = { outcome: 'failed', codes: ['BUDGET_EXHAUSTED'] } as const;
const MISTAKES = ['GRAPHQL_PARSE_FAILED', 'BAD_USER_INPUT', 'UNAUTHENTICATED', 'FORBIDDEN'];
