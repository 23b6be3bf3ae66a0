import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHistory } from './history-events.ts';

const MINUTE = 60_000;

describe('The steps of a history', () => {
  it('hold what happened in them, the last one under way', async () => {
    const { clock, send, history } = createHistory();
    send();
    send({ lane: 'write' });
    await clock.advance(7000);
    send({ lane: 'refresh', operation: null });
    send({ code: 'LATE' });
    send({ code: 'REFUSED' });
    history.foreign({ upstream: 'LINKS', count: 4 });
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
          const { clock, send, history } = createHistory();
          const moments: number[] = [];
          for (const gap of gaps) {
            await clock.advance(gap);
            send();
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
    const { clock, send, history } = createHistory();
    send();
    clock.jumpWall(-3 * 60 * MINUTE);
    await clock.advance(5000);
    const { interactive, lastStepAt } = history.sends('LINKS');
    expect(interactive.slice(-2)).toEqual([1, 0]);
    expect(lastStepAt).toBe(clock.wall());
  });

  it('know how many waited at most, also in steps in which nobody came or went', async () => {
    const { clock, history } = createHistory();
    history.queue({ upstream: 'LINKS', change: 1 });
    history.queue({ upstream: 'LINKS', change: 1 });
    await clock.advance(11_000);
    history.queue({ upstream: 'LINKS', change: -1 });
    await clock.advance(5000);
    history.queue({ upstream: 'LINKS', change: -1 });
    // It got its slot in the moment in which it asked for one.
    history.queue({ upstream: 'LINKS', change: 1 });
    history.queue({ upstream: 'LINKS', change: -1 });
    await clock.advance(5000);
    expect(history.sends('LINKS').queued.slice(-6)).toEqual([0, 2, 2, 2, 1, 0]);
  });
});

describe('The hour of a history', () => {
  it('forgets after an hour, and not before fifty-five minutes', async () => {
    const { clock, send, history } = createHistory();
    for (let minute = 0; minute < 90; minute += 1) {
      send();
      history.reads({ upstream: 'LINKS', resource: 'channels', result: 'hit', times: 1 });
      history.answeredInBulk({ remembered: 1, executed: 0, names: new Map(), maxAgeMs: 0 });
      await clock.advance(MINUTE);
    }
    expect(history.hour.sends).toBeGreaterThanOrEqual(55);
    expect(history.hour.sends).toBeLessThanOrEqual(60);
    expect(history.hourOf('LINKS', 'channels')).toMatchObject({ hits: history.hour.sends });
    await clock.advance(3 * 60 * MINUTE);
    expect([history.hour.sends, history.hourOf('LINKS', 'channels').reads]).toEqual([0, 0]);
    expect(history.hour.spenders.rows.map(({ sends }) => sends)).toEqual([0]);
  });

  it('takes a request that did not leave out of the column in which it was counted', async () => {
    const { clock, leave, history } = createHistory();
    await clock.advance(5 * MINUTE - 1 - (clock.now() % (5 * MINUTE)));
    const ends = leave({ lane: 'refresh' });
    await clock.advance(2);
    ends('LATE');
    expect(history.hour.sends).toBe(0);
    expect(history.hourOf('LINKS', 'channels').renewals).toBe(0);
  });

  it('counts what was forgotten for newer names under others', () => {
    const { send, end, history } = createHistory();
    for (let n = 0; n < 1000; n += 1) {
      end(`Made${n}`);
      send({ caller: `caller ${n}` });
    }
    const { others, rows } = history.hour.operations;
    expect(rows).toHaveLength(128);
    expect(others.runs).toBe(872);
    expect(others.saved).toBe(1744);
    expect(history.hour.spenders.others).toBe(600);
    expect(history.hour.sends).toBe(1000);
  });

  it('tells how long the slow ones took, about', () => {
    const { end, history } = createHistory();
    for (let n = 1; n <= 90; n += 1) end('Slow', { durationMs: 40 });
    for (let n = 1; n <= 10; n += 1) end('Slow', { waitedMs: 5000 });
    const [slow] = history.hour.operations.rows;
    expect(slow?.waitP95Ms).toBeGreaterThan(4096);
    expect(slow?.waitP95Ms).toBeLessThan(8193);
    // All that was answered in front waited for nothing.
    const names = new Map([['Slow', { runs: 1900, saved: 1900 }]]);
    history.answeredInBulk({ remembered: 1900, executed: 0, names, maxAgeMs: 0 });
    const [row] = history.hour.operations.rows;
    expect(row).toMatchObject({ waitP95Ms: 0, durationP95Ms: 0, runs: 2000 });
  });
});

describe('A history', () => {
  it('remembers the last fifty events, the latest first', () => {
    const { end, history } = createHistory();
    for (let n = 0; n < 60; n += 1) end(`F${n}`, fails);
    expect(history.log.latest).toHaveLength(50);
    expect(history.log.latest[0]).toMatchObject({
      kind: 'operation-failed',
      text: 'The query F59 failed: UPSTREAM_TIMEOUT.',
      requestId: 'r',
    });
  });

  it('says nothing of what callers do wrong', () => {
    const { end, history } = createHistory();
    for (const code of ['GRAPHQL_PARSE_FAILED', 'BAD_USER_INPUT', 'UNAUTHENTICATED', 'FORBIDDEN']) {
      end('Wrong', { outcome: 'failed', codes: [code] });
    }
    expect(history.log.latest).toEqual([]);
  });
});

const fails = { outcome: 'failed', codes: ['UPSTREAM_TIMEOUT'] } as const;
