import { describe, expect, test } from 'vitest';
import { ClientWorld, complete, data, expectBackOff, next } from './client-world.ts';
import { event, Feed } from './scripted-gateway.ts';

const world = new ClientWorld();

describe('the end', () => {
  test('for good is reported once, with its reason', async () => {
    const asked = await world.openStream();
    const errors = [{ message: 'Log in.', extensions: { code: 'UNAUTHENTICATED' } }];
    asked.send(event({ event: 'next', data: { errors } }), complete);
    expect(await world.ends.next()).toEqual({ status: 200, errors });
    await asked.closed;
    await world.client.clock.advance(3_600_000);
    expect(world.left).toEqual([0, 0, 0, 0]);
  });

  test.each([400, 401, 403, 200])(
    'is an answer of GraphQL errors with status %i',
    async (status) => {
      world.open();
      const errors = [{ message: 'No.', extensions: { code: 'FORBIDDEN' } }];
      (await world.asked()).answer(status, { errors });
      expect(await world.ends.next()).toEqual({ status, errors });
      expect([world.client.waits.size, world.results.size]).toEqual([0, 0]);
    },
  );

  test('is a stream of errors alone', async () => {
    world.open();
    const errors = [{ message: 'No.' }];
    const refusal = event({ event: 'next', data: { errors } });
    (await world.asked()).stream(refusal, 'event: complete\n\n');
    expect(await world.ends.next()).toEqual({ status: 200, errors });
  });

  test('is a page that is not there, though it is not of the gateway', async () => {
    world.open();
    (await world.asked()).answer(404, '<h1>Nothing here</h1>');
    expect((await world.ends.next()).status).toBe(404);
  });

  test('comes at once by the hand of the page', async () => {
    const asked = await world.openStream();
    world.stop();
    world.stop();
    await asked.closed;
    expect([world.client.waits.size, world.ends.size]).toEqual([0, 0]);
  });

  test('holds for an answer that nothing could stop', async () => {
    const answered = new Feed<Response>();
    const unstoppable = async (url: string | URL | Request, init: RequestInit = {}) => {
      const { signal: _, ...rest } = init;
      const response = await fetch(url, rest);
      answered.push(response.clone());
      return response;
    };
    world.open({ fetch: unstoppable });
    const asked = await world.asked();
    world.stop();
    asked.answer(200, { data });
    await (await answered.next()).text();
    await world.client.clock.settle();
    expect(world.left).toEqual([0, 0, 0, 0]);
  });

  test('by the hand of a listener holds for what has come already', async () => {
    world.open({}, (result) => {
      world.results.push(result);
      world.stop();
    });
    const asked = await world.asked();
    asked.stream(`${next(1)}${next(2)}${complete}`);
    await asked.closed;
    expect([world.results.size, world.client.waits.size, world.ends.size]).toEqual([1, 0, 0]);
  });
});

describe('a refusal that passes', () => {
  const away = { message: 'Later.', extensions: { code: 'BUDGET_EXHAUSTED', retryAfterMs: 7000 } };
  const soon = { message: 'Soon.', extensions: { code: 'BUDGET_EXHAUSTED', retryAfterMs: 1 } };
  const inFive = () => new Date(world.client.clock.wall() + 5000).toUTCString();

  test.each<[string, number, unknown, () => Record<string, string>, number]>([
    ['Retry-After', 429, { errors: [{ message: 'x' }] }, () => ({ 'retry-after': '5' }), 5000],
    ['a date in Retry-After', 503, 'Away', () => ({ 'retry-after': inFive() }), 5000],
    ['retryAfterMs', 503, { errors: [{ message: 'x' }, away] }, () => ({}), 7000],
    ['retryAfterMs, though not at once', 200, { errors: [soon] }, () => ({}), 1000],
    ['retryAfterMs with status 200', 200, { errors: [away] }, () => ({}), 7000],
  ])('is not repeated before the time in %s', async (_, status, answer, headers, ms) => {
    world.open();
    (await world.asked()).answer(status, answer, headers());
    const waited = await world.waitOut();
    expect(waited).toBeGreaterThanOrEqual(ms);
    expect(waited).toBeLessThanOrEqual(ms * 1.2);
    expect((await world.asked()).headers.accept).toBe('text/event-stream;live=age');
  });

  test.each([
    [500, { errors: [{ message: 'x' }] }],
    [429, 'Slowly'],
    [502, 'Bad gateway'],
    [200, '<h1>Log in to this network</h1>'],
  ])('of status %i without a time is backed off from', async (status, answer) => {
    world.open();
    for (let failures = 0; failures < 3; failures += 1) {
      (await world.asked()).answer(status, answer);
      expectBackOff(await world.waitOut(), failures);
    }
  });

  test('may be a stream', async () => {
    world.open();
    const refusal = event({ event: 'next', data: { errors: [away] } });
    (await world.asked()).stream(refusal, 'event: complete\ndata:\n\n');
    expect(await world.waitOut()).toBeGreaterThanOrEqual(7000);
  });
});
