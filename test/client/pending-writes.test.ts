import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import type { WriteAnswer } from '../../client/pending-writes.ts';
import type { Asked } from './scripted-gateway.ts';
import { CREATE, done, failed, keyOf, variables, WriteWorld } from './write-world.ts';

const DAY_MS = 86_400_000;
const world = new WriteWorld();
const send = (): Promise<WriteAnswer> => world.writes.send(CREATE, variables);

describe('a pending write', () => {
  it('is sent once, and gone with its answer', async () => {
    const answer = send();
    expect(world.writes.list()).toMatchObject([
      { operation: CREATE, variables, state: 'sending', isUnsure: false, isKept: true },
    ]);
    const asked = await world.asked();
    expect(asked.body).toEqual({ operationName: CREATE, variables });
    expect(world.writes.list()[0]?.key).toBe(keyOf(asked));
    expect(world.storage.length).toBe(1);
    asked.answer(200, done);
    expect(await answer).toEqual(done);
    expect(world.shown).toEqual(['sending', 'none']);
    world.expectRest();
  });

  it('is one if a form is submitted twice, and another after its answer', async () => {
    const [first, second] = [send(), send()];
    const other = world.writes.send(CREATE, { input: { name: 'Spring sale' } });
    const keys: string[] = [];
    for (const _ of [1, 2]) {
      const asked = await world.asked();
      keys.push(keyOf(asked));
      asked.answer(200, done);
    }
    expect(await Promise.all([first, second, other])).toEqual([done, done, done]);
    const later = send();
    const asked = await world.asked();
    keys.push(keyOf(asked));
    asked.answer(200, done);
    await later;
    expect(new Set(keys).size).toBe(3);
    world.expectRest();
  });

  it('is as the person decided, whatever becomes of the object', async () => {
    const changing = { input: { name: 'Winter sale' } };
    const answer = world.writes.send(CREATE, changing);
    (await world.asked()).cut();
    changing.input.name = 'Spring sale';
    await world.waitOut();
    const asked = await world.asked();
    expect(asked.body).toEqual({ operationName: CREATE, variables });
    asked.answer(200, done);
    await answer;
  });

  it.each([
    ['a lost connection', (asked: Asked) => asked.cut(), 1000, '?'],
    ['a page of a proxy', (asked: Asked) => asked.answer(502, '<h1>Bad gateway</h1>'), 1000, '?'],
    ['JSON of a proxy', (asked: Asked) => asked.answer(504, { message: 'Timed out' }), 1000, '?'],
    [
      'OUTCOME_UNKNOWN with a delay',
      (asked: Asked) => asked.answer(200, failed('OUTCOME_UNKNOWN', { retryAfterMs: 6000 })),
      6000,
      '?',
    ],
    [
      'IDEMPOTENCY_KEY_IN_USE',
      (asked: Asked) => asked.answer(409, failed('IDEMPOTENCY_KEY_IN_USE', { retryAfterMs: 3000 })),
      3000,
      '?',
    ],
    [
      'BUDGET_EXHAUSTED',
      (asked: Asked) => asked.answer(503, failed('BUDGET_EXHAUSTED', { retryAfterMs: 9000 })),
      9000,
      '',
    ],
    [
      'UPSTREAM_UNAVAILABLE',
      (asked: Asked) => asked.answer(200, failed('UPSTREAM_UNAVAILABLE')),
      1000,
      '',
    ],
  ])('is sent again with the same key after %s', async (_, end, least, mark) => {
    const answer = send();
    const first = await world.asked();
    end(first);
    const ms = await world.waitOut();
    expect(ms).toBeGreaterThanOrEqual(least);
    expect(ms).toBeLessThanOrEqual(least * 1.2);
    const second = await world.asked();
    expect(keyOf(second)).toBe(keyOf(first));
    second.answer(200, done);
    expect(await answer).toEqual(done);
    expect(world.shown.slice(-3)).toEqual([`waiting${mark}`, `sending${mark}`, 'none']);
    world.expectRest();
  });

  it.each([
    ['InvalidInput', { data: { createCampaign: { __typename: 'InvalidInput' } } }],
    ['Conflict', { data: { createCampaign: { __typename: 'Conflict' } } }],
    ['IDEMPOTENCY_KEY_REUSED', failed('IDEMPOTENCY_KEY_REUSED')],
    ['OUTCOME_UNKNOWN without a delay', failed('OUTCOME_UNKNOWN')],
    [
      'OUTCOME_UNKNOWN with several possible results',
      failed('OUTCOME_UNKNOWN', { candidates: ['a', 'b'], retryAfterMs: 1000 }),
    ],
    ['BAD_USER_INPUT', failed('BAD_USER_INPUT')],
    ['UNAUTHENTICATED at first', failed('UNAUTHENTICATED')],
  ])('is over with %s', async (_, body) => {
    const answer = send();
    (await world.asked()).answer(200, body);
    expect(await answer).toEqual(body);
    world.expectRest();
  });

  it('waits twice as long each time, and at most half a minute', async () => {
    const answer = send();
    for (const least of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      (await world.asked()).cut();
      const at = world.client.clock.wall();
      await world.client.clock.settle();
      const [{ retryAt } = { retryAt: null }] = world.writes.list();
      const ms = await world.waitOut();
      expect(retryAt).toBe(at + ms);
      expect(ms).toBeGreaterThanOrEqual(least);
      expect(ms).toBeLessThanOrEqual(least * 1.2);
    }
    (await world.asked()).answer(200, done);
    await answer;
  });

  it('is forgotten on request, under way or not', async () => {
    const answer = send();
    const asked = await world.asked();
    world.writes.forget(keyOf(asked));
    await expect(answer).rejects.toThrow('aborted');
    await asked.closed;
    world.expectRest();
    const again = send();
    expect(keyOf(await world.asked())).not.toBe(keyOf(asked));
    world.writes.forget(world.writes.list()[0]?.key ?? '');
    await expect(again).rejects.toThrow('aborted');
    world.expectRest();
  });

  it('calls every listener until it unsubscribes, with one list for one state', async () => {
    let told = 0;
    const leave = world.writes.subscribe(() => {
      told += 1;
      expect(world.writes.list()).toBe(world.writes.list());
    });
    const answer = send();
    expect(told).toBe(1);
    leave();
    (await world.asked()).answer(200, done);
    await answer;
    expect(told).toBe(1);
  });

  it('is one even if a listener sends it', async () => {
    const answers: unknown[] = [];
    const leave = world.writes.subscribe(() => {
      leave();
      answers.push(send());
    });
    answers.push(send());
    (await world.asked()).answer(200, done);
    expect(await Promise.all(answers)).toEqual([done, done]);
    world.expectRest();
  });
});

describe('a pending write without a network', () => {
  it('is sent when the browser is online', async () => {
    world.client.isOnline = false;
    const answer = send();
    await world.client.clock.advance(600_000);
    expect(world.gateway.asked.size).toBe(0);
    world.client.isOnline = true;
    (await world.asked()).answer(200, done);
    expect(await answer).toEqual(done);
    expect(world.shown).toEqual(['sending', 'offline', 'sending', 'none']);
    world.expectRest();
  });

  it('leaves no listener of the waits before', async () => {
    const listen = vi.spyOn(EventTarget.prototype, 'addEventListener');
    const answer = send();
    const keys = new Set([keyOf(await world.asked())]);
    for (let tunnel = 0; tunnel < 10; tunnel++) {
      world.client.isOnline = false;
      await world.client.clock.settle();
      world.client.isOnline = true;
      keys.add(keyOf(await world.asked()));
    }
    world.client.isOnline = false;
    await world.client.clock.settle();
    const signals = new Set(listen.mock.contexts.filter((each) => each instanceof AbortSignal));
    const waits = [...signals].map((signal) => getEventListeners(signal, 'abort').length);
    expect(Math.max(...waits)).toBeLessThan(5);
    listen.mockRestore();
    world.client.isOnline = true;
    (await world.asked()).answer(200, done);
    expect(await answer).toEqual(done);
    expect(keys.size).toBe(1);
    world.expectRest();
  });

  it('does not wait for an answer that was on its way', async () => {
    const answer = send();
    const first = await world.asked();
    world.client.isOnline = false;
    await first.closed;
    await world.client.clock.settle();
    expect(world.shown.at(-1)).toBe('offline?');
    world.client.isOnline = true;
    const second = await world.asked();
    expect(keyOf(second)).toBe(keyOf(first));
    second.answer(200, done);
    expect(await answer).toEqual(done);
    world.expectRest();
  });

  it('can be forgotten', async () => {
    world.client.isOnline = false;
    const answer = send();
    await world.client.clock.settle();
    world.writes.forget(world.writes.list()[0]?.key ?? '');
    await expect(answer).rejects.toThrow('aborted');
    world.client.isOnline = true;
    await world.client.clock.settle();
    world.expectRest();
  });

  it('expires', async () => {
    world.client.isOnline = false;
    const answer = send();
    await world.client.clock.settle();
    await world.client.clock.advance(DAY_MS);
    world.client.isOnline = true;
    await expect(answer).rejects.toThrow('not confirmed within 24 hours');
    expect(world.writes.list()).toMatchObject([{ state: 'expired' }]);
    expect([world.storage.length, world.gateway.asked.size]).toEqual([0, 0]);
  });
});

describe('a pending write whose answer is refused for want of a login', () => {
  it('goes on after the login, if it may have been made', async () => {
    const answer = send();
    const first = await world.asked();
    first.cut();
    await world.waitOut();
    (await world.asked()).answer(401, failed('UNAUTHENTICATED'));
    expect(await answer).toEqual(failed('UNAUTHENTICATED'));
    expect(world.writes.list()).toMatchObject([{ state: 'stopped', isUnsure: true }]);
    const again = send();
    const last = await world.asked();
    expect(keyOf(last)).toBe(keyOf(first));
    last.answer(200, done);
    expect(await again).toEqual(done);
    world.expectRest();
  });
});
