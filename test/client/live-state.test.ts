import { describe, expect, test, vi } from 'vitest';
import type { LiveOptions } from '../../client/live-types.ts';
import { age, ClientWorld, complete, data, expectBackOff, next } from './client-world.ts';
import { event, Feed, ScriptedPage } from './scripted-gateway.ts';

const world = new ClientWorld();

type Told = readonly [state: string, ageMs: number | null];

/** What is told of states, in order. */
function listening(): { readonly told: Feed<Told>; readonly options: Partial<LiveOptions> } {
  const told = new Feed<Told>();
  return { told, options: { onState: (state, { ageMs }) => told.push([state, ageMs]) } };
}

/** A page of whose network the test decides. */
function stubNetwork(): EventTarget {
  const network = new EventTarget();
  for (const name of ['addEventListener', 'removeEventListener'] as const) {
    vi.stubGlobal(name, network[name].bind(network));
  }
  return network;
}

const refusal = { errors: [{ message: 'Expired.', extensions: { code: 'UNAUTHENTICATED' } }] };

describe('headers that are refused', () => {
  /** Tokens by their number, and what was said of those before. */
  function renewing() {
    const said: boolean[] = [];
    const headers = (refused: boolean) => {
      said.push(refused);
      return { authorization: `Bearer ${said.length}` };
    };
    return { said, headers };
  }

  test.each<[string, number, unknown]>([
    ['an error of GraphQL', 200, refusal],
    ['the status 401 of the gateway', 401, refusal],
    ['the status 401 of a proxy', 401, '<h1>Log in</h1>'],
  ])('are asked for once more after %s', async (_, status, answer) => {
    const { headers, said } = renewing();
    world.open({ headers });
    (await world.asked()).answer(status, answer);
    const again = await world.asked();
    expect(again.headers.authorization).toBe('Bearer 2');
    expect(said).toEqual([false, true]);
    again.stream(next(1));
    expect((await world.results.next()).data).toEqual(data);
    expect(world.left).toEqual([0, 0, 0, 0]);
  });

  test('end the query where the new ones are refused too', async () => {
    const { headers } = renewing();
    const { options, told } = listening();
    world.open({ headers, ...options });
    (await world.asked()).answer(401, refusal);
    (await world.asked()).answer(401, refusal);
    expect(await world.ends.next()).toEqual({ status: 401, ...refusal });
    expect([await told.next(), await told.next()]).toEqual([
      ['waiting', null],
      ['ended', null],
    ]);
    await world.client.clock.advance(3_600_000);
    expect(world.left).toEqual([0, 0, 0, 0]);
  });

  test('end it at once where they are always the same', async () => {
    world.open({ headers: { authorization: 'Bearer mine' } });
    (await world.asked()).answer(401, refusal);
    expect((await world.ends.next()).status).toBe(401);
  });

  test('end it at once where other headers would change nothing', async () => {
    world.open({ headers: renewing().headers });
    (await world.asked()).answer(400, {
      errors: [{ message: 'No.', extensions: { code: 'BAD_USER_INPUT' } }],
    });
    expect((await world.ends.next()).status).toBe(400);
  });

  test('are asked for each time that a token runs out, and the stream goes on where it was', async () => {
    const { headers, said } = renewing();
    let asked = await world.openStream({ headers });
    for (let times = 1; times <= 3; times += 1) {
      asked.send(event({ event: 'next', data: refusal }), complete);
      asked = await world.asked();
      expect(asked.headers.authorization).toBe(`Bearer ${times + 1}`);
      asked.stream(age(2, 0));
      await world.results.next();
    }
    expect(said).toEqual([false, true, true, true]);
    expect(world.ends.size).toBe(0);
  });

  test('are asked for once more while polling', async () => {
    const { headers } = renewing();
    world.open({ headers });
    (await world.asked()).answer(200, { data });
    await world.results.next();
    await world.waitOut();
    (await world.asked()).answer(401, refusal);
    const again = await world.asked();
    expect(again.headers).toMatchObject({ authorization: 'Bearer 3', accept: 'application/json' });
  });
});

describe('the state', () => {
  test('is open over a stream, and waiting once that breaks, with the age of what is shown', async () => {
    const { options, told } = listening();
    const asked = await world.openStream(options);
    expect(await told.next()).toEqual(['open', 0]);
    await world.client.clock.advance(5000);
    asked.send(age(2, 20_000));
    await world.results.next();
    await world.client.clock.advance(3000);
    asked.cut();
    expect(await told.next()).toEqual(['waiting', 23_000]);
    await world.waitOut();
    (await world.asked()).stream(age(2, 24_000));
    expect(await told.next()).toEqual(['open', 24_000]);
    expect(told.size).toBe(0);
  });

  test('is waiting after 40 seconds of silence, however open the connection is', async () => {
    const { options, told } = listening();
    await world.openStream(options);
    await told.next();
    await world.client.clock.advance(39_999);
    expect(told.size).toBe(0);
    await world.client.clock.advance(1);
    expect(await told.next()).toEqual(['waiting', 40_000]);
    // And while the next one is silent from the beginning.
    await world.waitOut();
    (await world.asked()).stream();
    await world.client.clock.advance(50_000);
    expect(told.size).toBe(0);
  });

  test('is waiting from the first on where nothing is to be had', async () => {
    const { options, told } = listening();
    world.open(options);
    (await world.asked()).cut();
    expect(await told.next()).toEqual(['waiting', null]);
    for (let times = 0; times < 3; times += 1) {
      await world.waitOut();
      (await world.asked()).answer(503, 'Away');
    }
    await world.client.waits.next();
    expect(told.size).toBe(0);
  });

  test('is polling as long as polls are answered', async () => {
    const { options, told } = listening();
    const answer = { data, extensions: { upstream: { calls: 0, maxAgeMs: 7000 } } };
    world.open(options);
    (await world.asked()).answer(200, answer);
    expect(await told.next()).toEqual(['polling', 7000]);
    await world.waitOut();
    (await world.asked()).answer(200, answer);
    await world.results.next();
    await world.waitOut();
    expect(told.size).toBe(0);
    (await world.asked()).cut();
    expect(await told.next()).toEqual(['waiting', 37_000]);
    await world.waitOut();
    (await world.asked()).answer(200, answer);
    expect(await told.next()).toEqual(['polling', 7000]);
  });

  test('is polling after a stream that answers once', async () => {
    const { options, told } = listening();
    world.open(options);
    const once = event({ event: 'next', data: { data } });
    (await world.asked()).stream(once, event({ event: 'complete', data: '' }));
    expect([(await told.next())[0], (await told.next())[0]]).toEqual(['open', 'polling']);
  });

  test('is waiting between two streams, and while the page is hidden', async () => {
    const { options, told } = listening();
    const page = new ScriptedPage();
    const asked = await world.openStream({ ...options, document: page });
    await told.next();
    asked.send('retry: 200\n\n').end();
    expect((await told.next())[0]).toBe('waiting');
    expect(await world.waitOut()).toBe(200);
    (await world.asked()).stream(age(2, 0));
    expect((await told.next())[0]).toBe('open');
    page.turn('hidden');
    expect((await told.next())[0]).toBe('waiting');
    page.turn('visible');
    (await world.asked()).stream(age(2, 0));
    expect((await told.next())[0]).toBe('open');
  });

  test('is ended with the query, and nothing when the page stops it', async () => {
    const { options, told } = listening();
    const asked = await world.openStream(options);
    await told.next();
    asked.send(event({ event: 'next', data: refusal }), complete);
    expect((await told.next())[0]).toBe('ended');
    await world.ends.next();
    await world.openStream(options);
    await told.next();
    world.stop();
    await world.client.clock.advance(3_600_000);
    expect(told.size).toBe(0);
  });

  test.each(['open', 'waiting', 'polling'])(
    'may be the last: a page that stops when it is %s',
    async (last) => {
      world.open({ onState: (state) => state === last && world.stop() });
      const asked = await world.asked();
      if (last === 'polling') asked.answer(200, { data });
      else if (last === 'open') asked.stream(next(1), next(2));
      else asked.cut();
      await asked.closed;
      await world.client.clock.settle();
      await world.client.clock.advance(3_600_000);
      expect([world.gateway.asked.size, world.results.size, world.ends.size]).toEqual([0, 0, 0]);
    },
  );

  test('goes on where its listener throws', async () => {
    const told = vi.spyOn(console, 'error').mockImplementation(() => {});
    await world.openStream({
      onState: () => {
        throw new Error('of the page');
      },
    });
    expect(told).toHaveBeenCalledOnce();
  });
});

describe('a network that is back', () => {
  test('ends the wait for a connection that broke', async () => {
    const network = stubNetwork();
    const asked = await world.openStream();
    asked.cut();
    for (let failures = 0; failures < 6; failures += 1) {
      expectBackOff(await world.waitOut(), failures);
      (await world.asked()).cut();
    }
    await world.client.waits.next();
    network.dispatchEvent(new Event('online'));
    const again = await world.asked();
    again.cut();
    expectBackOff(await world.waitOut());
  });

  test('makes a stream again, which may be dead, from where it was', async () => {
    const network = stubNetwork();
    const { options, told } = listening();
    const asked = await world.openStream(options);
    network.dispatchEvent(new Event('online'));
    await asked.closed;
    const again = await world.asked();
    again.stream(age(2, 0));
    const states = [await told.next(), await told.next(), await told.next()];
    expect(states.map(([state]) => state)).toEqual(['open', 'waiting', 'open']);
  });

  test('ends no wait that the gateway has asked for, and no poll', async () => {
    const network = stubNetwork();
    world.open();
    (await world.asked()).answer(429, 'Slowly', { 'retry-after': '20' });
    await world.client.waits.next();
    network.dispatchEvent(new Event('online'));
    await world.client.clock.advance(19_999);
    expect(world.gateway.asked.size).toBe(0);
    await world.client.clock.advance(10_000);
    (await world.asked()).answer(200, { data });
    await world.results.next();
    await world.waitOut();
    const poll = await world.asked();
    network.dispatchEvent(new Event('online'));
    poll.answer(200, { data });
    await world.results.next();
    expect(world.gateway.asked.size).toBe(0);
  });

  test('is forgotten once the query is stopped', async () => {
    const network = stubNetwork();
    await world.openStream();
    world.stop();
    network.dispatchEvent(new Event('online'));
    await world.client.clock.settle();
    expect(world.left).toEqual([0, 0, 0, 0]);
  });
});
