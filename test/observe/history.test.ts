import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { History } from '../../src/observe/history/history.ts';
import type { OperationRecord } from '../../src/observe/observer.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE = 60_000;

function createHistory(clock = new VirtualClock()) {
  return { clock, history: new History({ clock, isReachable: () => true }) };
}

/** One request that leaves, and is answered at once. */
function send(
  history: History,
  {
    lane = 'interactive',
    caller = 'a',
    operation = 'Dashboard',
    resource = 'channels',
    code = 'OK',
    upstream = 'LINKS',
  }: {
    lane?: 'write' | 'interactive' | 'refresh';
    caller?: string;
    operation?: string | null;
    resource?: string;
    upstream?: 'LINKS' | 'MARKET';
    code?: 'OK' | 'LATE' | 'REFUSED' | 'UPSTREAM_TIMEOUT';
  } = {},
): void {
  history
    .request({
      upstream,
      method: 'GET',
      resource,
      operation: {},
      asker: { requestId: 'r', operation },
      caller: lane === 'refresh' ? null : caller,
      lane,
      renews: lane === 'refresh',
    })
    .end({ code, durationMs: 1 });
}

function record(name: string | null, more: Partial<OperationRecord> = {}): OperationRecord {
  const ended = { status: 200, codes: [], outcome: 'ok', durationMs: 0 } as const;
  const cost = { calls: 1, saved: 2, waitedMs: 0, stale: 0 };
  return { requestId: 'r', name, type: 'query', caller: 'a', ...ended, ...cost, ...more };
}

const sum = (column: readonly number[]): number => column.reduce((all, each) => all + each, 0);

describe('The steps of a history', () => {
  it('hold what happened in them, the last one under way', async () => {
    const { clock, history } = createHistory();
    send(history);
    send(history, { lane: 'write' });
    await clock.advance(7000);
    send(history, { lane: 'refresh', operation: null });
    send(history, { code: 'LATE' });
    send(history, { code: 'REFUSED' });
    history.foreign('LINKS', 4);
    const { foreign, interactive, lastStepAt, refresh, refused, stepMs, top, write } =
      history.sends('LINKS');
    expect(interactive.slice(-2)).toEqual([1, 1]);
    expect(write.slice(-2)).toEqual([1, 0]);
    expect(refresh.slice(-2)).toEqual([0, 1]);
    expect(refused.slice(-2)).toEqual([0, 1]);
    expect(foreign.slice(-2)).toEqual([0, 4]);
    expect([interactive.length, stepMs]).toEqual([180, 5000]);
    expect(lastStepAt).toBe(clock.wall() - 2000);
    expect(top[178]).toEqual([{ resource: 'channels', operation: 'Dashboard', sends: 2 }]);
    expect(history.sends('MARKET').top).toEqual({});
  });

  it('leave nothing behind that is older than they are, however long nothing happens', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 40 * MINUTE }), { maxLength: 12 }),
        async (gaps) => {
          const { clock, history } = createHistory();
          const moments: number[] = [];
          for (const gap of gaps) {
            await clock.advance(gap);
            send(history);
            moments.push(clock.now());
          }
          const first = Math.floor(clock.now() / 5000) - 179;
          const expected = Array.from({ length: 180 }, () => 0);
          for (const moment of moments) {
            const at = Math.floor(moment / 5000) - first;
            if (at >= 0) (expected[at] as number) += 1;
          }
          expect(history.sends('LINKS').interactive).toEqual(expected);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('stay where they are when the wall clock jumps', async () => {
    const { clock, history } = createHistory();
    send(history);
    clock.jumpWall(-3 * 60 * MINUTE);
    await clock.advance(5000);
    const { interactive, lastStepAt } = history.sends('LINKS');
    expect(interactive.slice(-2)).toEqual([1, 0]);
    expect(lastStepAt).toBe(clock.wall());
  });

  it('know how many waited at most, also in steps in which nobody came or went', async () => {
    const { clock, history } = createHistory();
    history.queue('LINKS', 1);
    history.queue('LINKS', 1);
    await clock.advance(11_000);
    history.queue('LINKS', -1);
    await clock.advance(5000);
    history.queue('LINKS', -1);
    // It got its slot in the moment in which it asked for one.
    history.queue('LINKS', 1);
    history.queue('LINKS', -1);
    await clock.advance(5000);
    expect(history.sends('LINKS').queued.slice(-6)).toEqual([0, 2, 2, 2, 1, 0]);
  });
});

describe('The hour of a history', () => {
  it('forgets after an hour, and not before fifty-five minutes', async () => {
    const { clock, history } = createHistory();
    for (let minute = 0; minute < 90; minute += 1) {
      send(history);
      history.read('LINKS', 'channels', 'hit');
      history.answeredInFront(1, 0, new Map());
      await clock.advance(MINUTE);
    }
    expect(history.sendsOfHour).toBeGreaterThanOrEqual(55);
    expect(history.sendsOfHour).toBeLessThanOrEqual(60);
    expect(history.hourOf('LINKS', 'channels')).toMatchObject({ hits: history.sendsOfHour });
    await clock.advance(3 * 60 * MINUTE);
    expect([history.sendsOfHour, history.hourOf('LINKS', 'channels').reads]).toEqual([0, 0]);
    expect([...history.spenders.rows].map(({ counts }) => counts.sum(0))).toEqual([0]);
  });

  it('counts what was forgotten for newer names under others', () => {
    const { history } = createHistory();
    for (let n = 0; n < 1000; n += 1) {
      history.operation(record(`Made${n}`));
      send(history, { caller: `caller ${n}` });
    }
    const { others, rows } = history.operations;
    expect([...rows]).toHaveLength(128);
    expect(others?.cost.runs).toBe(872);
    expect(others?.cost.saved).toBe(1744);
    expect(history.spenders.others?.counts.sum(0)).toBe(600);
    expect(history.sendsOfHour).toBe(1000);
  });

  it('tells how long the slow ones took, about', () => {
    const { history } = createHistory();
    for (let n = 1; n <= 90; n += 1) history.operation(record('Slow', { durationMs: 40 }));
    for (let n = 1; n <= 10; n += 1) history.operation(record('Slow', { waitedMs: 5000 }));
    const [row] = history.operations.rows;
    expect(row?.p95.waitP95Ms).toBeGreaterThan(4096);
    expect(row?.p95.waitP95Ms).toBeLessThan(8193);
    // All that was answered in front waited for nothing.
    history.answeredInFront(1900, 0, new Map([['Slow', { runs: 1900, saved: 1900 }]]));
    expect(row?.p95).toEqual({ waitP95Ms: 0, durationP95Ms: 0 });
    expect(row?.cost.runs).toBe(2000);
  });
});

describe('A history', () => {
  it('takes less than a mebibyte, whatever callers call themselves', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const taken = async (): Promise<number> => {
      // What is on the stack of this turn is held by it.
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      // What frees the memory of arrays comes a turn after the arrays themselves.
      collect();
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      collect();
      const { arrayBuffers, heapUsed } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const held: History[] = [];
    for (let times = 0; times < MEASURED; times += 1) held.push(await attacked());
    expect(sum(held[0]?.sends('LINKS').interactive ?? [])).toBeGreaterThan(5000);
    const full = await taken();
    held.length = 0;
    const bytes = (full - (await taken())) / MEASURED;
    expect(bytes).toBeLessThan(1024 * 1024);
    expect(bytes).toBeGreaterThan(100_000);
  });

  it('remembers the last fifty things that happened, the latest first', () => {
    const { history } = createHistory();
    for (let n = 0; n < 60; n += 1) history.operation(record(`F${n}`, fails));
    expect(history.happenings.latest).toHaveLength(50);
    expect(history.happenings.latest[0]).toMatchObject({
      kind: 'operation-failed',
      text: 'The query F59 failed: UPSTREAM_TIMEOUT.',
      requestId: 'r',
    });
  });

  it('says nothing of what callers do wrong', () => {
    const { history } = createHistory();
    for (const code of ['GRAPHQL_PARSE_FAILED', 'BAD_USER_INPUT', 'UNAUTHENTICATED', 'FORBIDDEN']) {
      history.operation(record('Wrong', { outcome: 'failed', codes: [code] }));
    }
    expect(history.happenings.latest).toEqual([]);
  });
});

/** So many are measured together, since one of them may be held by something else. */
const MEASURED = 3;

/** A history after as many names as callers can make up, each a part of a long document as a parser cuts it. */
async function attacked(): Promise<History> {
  const { clock, history } = createHistory();
  for (let n = 0; n < 10_000; n += 1) {
    const document = `${n}${'x'.repeat(5000)}`;
    const name = n % 2 === 0 ? document : document.slice(0, 40);
    const asked = { caller: name, operation: name };
    for (const upstream of ['LINKS', 'MARKET'] as const) {
      send(history, { ...asked, upstream, resource: `r${n % 40}` });
    }
    history.queue('LINKS', n % 2 === 0 ? 1 : -1);
    send(history, { ...asked, code: 'UPSTREAM_TIMEOUT', lane: 'write' });
    history.operation(record(name, { outcome: 'failed', codes: ['INTERNAL_SERVER_ERROR'] }));
    history.read('MARKET', 'items', 'miss');
    if (n % 40 === 39) await clock.advance(3000);
  }
  return history;
}

const fails = { outcome: 'failed', codes: ['UPSTREAM_TIMEOUT'] } as const;
