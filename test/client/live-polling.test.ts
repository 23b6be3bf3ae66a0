import { describe, expect, test, vi } from 'vitest';
import type { LiveOptions } from '../../client/live-types.ts';
import { body, ClientWorld, data, expectBackOff } from './client-world.ts';
import { event, ScriptedPage } from './scripted-gateway.ts';

const world = new ClientWorld();

describe('a hidden page', () => {
  test('has no stream until it is seen, and then goes on from where it was', async () => {
    const page = new ScriptedPage();
    const asked = await world.openStream({ document: page });
    page.turn('hidden');
    await asked.closed;
    await world.client.clock.advance(3_600_000);
    expect([world.gateway.asked.size, world.client.waits.size]).toEqual([0, 0]);
    page.turn('visible');
  });

  test('asks for nothing before it is seen for the first time', async () => {
    const page = new ScriptedPage();
    page.visibilityState = 'hidden';
    world.open({ document: page });
    await world.client.clock.settle();
    expect(world.gateway.asked.size).toBe(0);
    page.turn('visible');
    await world.asked();
  });

  test('waits no shorter for having been away', async () => {
    const page = new ScriptedPage();
    const asked = await world.openStream({ document: page });
    asked.send('retry: 5000\n\n').end();
    await world.client.waits.next();
    page.turn('hidden');
    await world.client.clock.advance(3000);
    page.turn('visible');
    expect(await world.waitOut()).toBe(2000);
    await world.asked();
  });

  test('is forgotten once the query is stopped', async () => {
    const page = new ScriptedPage();
    await world.openStream({ document: page });
    world.stop();
    page.turn('hidden');
    page.turn('visible');
    await world.client.clock.settle();
    expect(world.gateway.asked.size).toBe(0);
  });

  test('is the document of the page where none is named', async () => {
    const page = new ScriptedPage();
    page.visibilityState = 'hidden';
    vi.stubGlobal('document', page);
    world.stop = world.client.live({ url: world.gateway.url, body }, () => {});
    vi.unstubAllGlobals();
    await world.client.clock.settle();
    expect(world.gateway.asked.size).toBe(0);
    page.turn('visible');
    await world.asked();
  });
});

describe('where streams do not get through', () => {
  const answer = (ageMs = 0) => ({ data, extensions: { upstream: { calls: 0, maxAgeMs: ageMs } } });

  /** A client that polls, with one answer. */
  async function openPolling(options?: Partial<LiveOptions>) {
    world.open(options);
    (await world.asked()).answer(200, answer());
    return world.results.next();
  }

  test('it polls, and keeps what is equal as it was', async () => {
    const first = await openPolling();
    expect(first).toEqual({ data, upstream: { calls: 0, maxAgeMs: 0 } });
    expect(await world.waitOut()).toBe(30_000);
    const asked = await world.asked();
    expect(asked.headers).toMatchObject({ accept: 'application/json', prefer: 'wait=5' });
    asked.answer(200, answer(30_000));
    const second = await world.results.next();
    expect(second.data).toBe(first.data);
    expect(second.upstream).toEqual({ calls: 0, maxAgeMs: 30_000 });
  });

  test('it polls as often and as patiently as it is told to', async () => {
    await openPolling({ pollMs: 4000, waitSeconds: 2 });
    expect(await world.waitOut()).toBe(4000);
    expect((await world.asked()).headers['prefer']).toBe('wait=2');
  });

  test('it polls no sooner than the budget allows', async () => {
    await openPolling();
    await world.waitOut();
    const extensions = { code: 'BUDGET_EXHAUSTED', retryAfterMs: 50_000 };
    const errors = [{ message: 'Later.', path: ['rows'], extensions }];
    (await world.asked()).answer(200, { data: null, errors });
    expect(await world.results.next()).toEqual({ data: null, errors });
    expect(await world.waitOut()).toBeGreaterThanOrEqual(50_000);
    (await world.asked()).answer(200, answer());
    await world.results.next();
    expect(await world.waitOut()).toBe(30_000);
  });

  test('it polls on after a poll that broke', async () => {
    await openPolling();
    await world.waitOut();
    for (let failures = 0; failures < 3; failures += 1) {
      (await world.asked()).cut();
      expectBackOff(await world.waitOut(), failures);
    }
    const asked = await world.asked();
    expect(asked.headers.accept).toBe('application/json');
    asked.answer(200, answer());
    await world.results.next();
    await world.waitOut();
    (await world.asked()).cut();
    expectBackOff(await world.waitOut());
  });

  test('it polls only while it is seen, and no more often for that', async () => {
    const page = new ScriptedPage();
    await openPolling({ document: page });
    expect(await world.client.waits.next()).toBe(30_000);
    page.turn('hidden');
    await world.client.clock.advance(10_000);
    page.turn('visible');
    expect(await world.client.waits.next()).toBe(20_000);
    page.turn('hidden');
    await world.client.clock.advance(3_600_000);
    expect(world.gateway.asked.size).toBe(0);
    page.turn('visible');
    const asked = await world.asked();
    // What is on its way has been paid for.
    page.turn('hidden');
    asked.answer(200, answer());
    await world.results.next();
    await world.client.clock.advance(3_600_000);
    expect(world.gateway.asked.size).toBe(0);
  });

  test('it polls where no stream is to be had: 406', async () => {
    world.open();
    (await world.asked()).answer(406, { errors: [{ message: 'No streams.' }] });
    const asked = await world.asked();
    expect(asked.headers.accept).toBe('application/json');
    asked.answer(406, { errors: [{ message: 'No JSON either.' }] });
    expect((await world.ends.next()).status).toBe(406);
  });

  test('it polls where a stream cannot be read', async () => {
    const headers = { 'content-type': 'text/event-stream' };
    const unread = async (url: string | URL | Request, init?: RequestInit) => {
      if (!new Headers(init?.headers).get('accept')?.includes('stream')) return fetch(url, init);
      return new Response(null, { headers });
    };
    world.open({ fetch: unread });
    expect((await world.asked()).headers.accept).toBe('application/json');
  });

  test('it polls where a stream is held back', async () => {
    world.open();
    const asked = (await world.asked()).stream();
    await world.client.clock.settle();
    await world.client.clock.advance(45_000);
    await asked.closed;
    await world.waitOut();
    expect((await world.asked()).headers.accept).toBe('application/json');
  });

  test('it polls where they no longer do, and says nothing of where they were', async () => {
    (await world.openStream()).cut();
    await world.waitOut();
    const refused = await world.asked();
    refused.answer(200, answer());
    await world.results.next();
    await world.waitOut();
  });

  test('it polls a server that answers once', async () => {
    world.open();
    const once = event({ event: 'next', data: { data } });
    (await world.asked()).stream(once, event({ event: 'complete', data: '' }));
    expect(await world.results.next()).toEqual({ data });
    expect(await world.waitOut()).toBe(30_000);
    const { headers } = await world.asked();
    expect(headers.accept).toBe('application/json');
  });
});
