import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  age,
  body,
  ClientWorld,
  data,
  expectBackOff,
  liveAt,
  next,
  renamed,
} from './client-world.ts';
import { event } from './scripted-gateway.ts';

const world = new ClientWorld();

function streamOf(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

describe('a stream', () => {
  test('is asked for as JSON, with the headers of the page', async () => {
    world.open({ headers: { Authorization: 'Bearer mine', accept: 'text/html' } });
    const asked = await world.asked();
    expect(asked.body).toEqual(body);
    expect(asked.headers).toMatchObject({
      accept: 'text/event-stream;live=age',
      'content-type': 'application/json',
      authorization: 'Bearer mine',
    });
    expect(asked.headers).not.toHaveProperty('prefer');
  });

  test('asks for headers each time, and again where there are none yet', async () => {
    let times = 0;
    world.open({
      headers: async () => {
        times += 1;
        if (times === 2) throw new Error('no token');
        return { authorization: `Bearer ${times}` };
      },
    });
    const first = await world.asked();
    expect(first.headers.authorization).toBe('Bearer 1');
    first.cut();
    await world.waitOut();
    await world.waitOut();
    expect((await world.asked()).headers.authorization).toBe('Bearer 3');
  });

  test('brings answers, and keeps what is as it was', async () => {
    world.open();
    const asked = await world.asked();
    const [one, two] = data.rows;
    asked.stream(
      next(1),
      next(2, { ...data, rows: [one, { ...two, clicks: 3 }] as typeof data.rows }),
    );
    const first = await world.results.next();
    expect(first).toEqual({ data, live: liveAt(1), upstream: { calls: 1 } });
    const second = await world.results.next();
    expect(second.data?.rows[1]?.clicks).toBe(3);
    expect(second.live).toMatchObject(liveAt(2));
    expect(second.data?.rows[0]).toBe(first.data?.rows[0]);
    expect(first.data?.rows[1]?.clicks).toBe(2);
    asked.send(age(2, 15_000));
    const third = await world.results.next();
    expect(third.data).toBe(second.data);
    expect(third.live).toEqual(liveAt(2, 15_000));
    asked.send(next(3, { ...data, name: 'whole' }));
    const fourth = await world.results.next();
    expect(fourth.data?.name).toBe('whole');
    expect(fourth.data?.rows[0]).toBe(first.data?.rows[0]);
  });

  test('brings errors and takes them back', async () => {
    const asked = await world.openStream();
    const errors = [{ message: 'Away.', extensions: { code: 'UPSTREAM_TIMEOUT' } }];
    const extensions = { live: liveAt(3) };
    asked.send(event({ event: 'next', data: { data, errors, extensions } }));
    expect((await world.results.next()).errors).toEqual(errors);
    asked.send(next(4));
    expect(await world.results.next()).not.toHaveProperty('errors');
  });

  test('may be cut anywhere and end its lines as it likes', async () => {
    const name = 'ä€🙂 \u2028';
    const whole = JSON.stringify({ data: { rows: [], name }, extensions: {} }, null, 1);
    const written = [
      '\ufeff: begins',
      'retry: soon',
      'id: 1',
      'event:next',
      ...whole.split('\n').map((line) => `data: ${line}`),
      '',
      '',
      ':',
      'event: unheard-of',
      'data',
      '',
      'event: next',
      'data: {"errors":[]}',
      '',
      'event: complete',
      'data',
      '',
      '',
    ];
    const ending = fc.constantFrom('\n', '\r\n', '\r');
    const cuts = fc.oneof(fc.constant([...Array(600).keys()]), fc.array(fc.nat(600)));
    await fc.assert(
      fc.asyncProperty(ending, cuts, async (ending, cuts) => {
        const bytes = new TextEncoder().encode(written.join(ending));
        const places = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
        const parts = places.slice(1).map((to, n) => bytes.subarray(places[n], to));
        const headers = { 'content-type': 'text/event-stream' };
        world.open({ fetch: async () => new Response(streamOf(parts), { headers }) });
        expect(await world.results.next()).toEqual({ data: { rows: [], name } });
        await world.ends.next();
      }),
      { numRuns: 60 },
    );
  });

  test('starts again when an event is no JSON', async () => {
    const asked = await world.openStream();
    asked.send(event({ event: 'next', data: '{' }));
    await asked.closed;
    expectBackOff(await world.waitOut());
    await world.asked();
    expect(world.results.size).toBe(0);
  });

  test('that breaks is made again', async () => {
    const asked = await world.openStream();
    // What has not come to its end has not come.
    asked.send('event: next\ndata: {"dat');
    await world.client.clock.settle();
    asked.cut();
    expectBackOff(await world.waitOut());
    const again = await world.asked();
    again.stream(age(2, 900));
    expect((await world.results.next()).live?.ageMs).toBe(900);
    again.cut();
    await world.waitOut();
    const third = await world.asked();
    third.stream(renamed(3, 'third'));
    expect((await world.results.next()).data?.name).toBe('third');
  });

  test('is asked for ever less often until it works', async () => {
    const asked = await world.openStream();
    asked.cut();
    for (let failures = 0; failures < 8; failures += 1) {
      expectBackOff(await world.waitOut(), failures);
      // The one event that each brings is no proof.
      (await world.asked()).stream(age(2, 0)).end();
      await world.results.next();
    }
    await world.waitOut();
    const works = (await world.asked()).stream(age(2, 0), age(2, 1));
    await world.results.next();
    await world.results.next();
    works.cut();
    expectBackOff(await world.waitOut());
  });

  test('is made again when the gateway says', async () => {
    const asked = await world.openStream();
    asked.send('retry: 2711\n\n').end();
    expect(await world.waitOut()).toBe(2711);
    const again = await world.asked();
    // What was said held for that one time.
    again.cut();
    expectBackOff(await world.waitOut());
  });

  test.each([40_000 - 1, 20_000])('lives as long as a sign of life comes: %i', async (ms) => {
    const asked = await world.openStream();
    for (let times = 0; times < 4; times += 1) {
      await world.client.clock.advance(ms);
      asked.send(age(2, times));
      await world.results.next();
    }
    expect(world.gateway.asked.size + world.client.waits.size).toBe(0);
    await world.client.clock.advance(40_000);
    await asked.closed;
    expectBackOff(await world.waitOut());
  });
});

describe('a listener that throws', () => {
  test('ends neither the stream nor the page', async () => {
    const told = vi.spyOn(console, 'error').mockImplementation(() => {});
    const wrong = new Error('of the page');
    world.open({}, (result) => {
      world.results.push(result);
      throw wrong;
    });
    const asked = (await world.asked()).stream(next(1), renamed(2, 'x'));
    await world.results.next();
    expect((await world.results.next()).data?.name).toBe('x');
    asked.send(age(2, 1));
    await world.results.next();
    expect(told.mock.calls).toEqual([[wrong], [wrong], [wrong]]);
    expect(world.client.waits.size).toBe(0);
  });
});
