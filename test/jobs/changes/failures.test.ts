import { expect, it } from 'vitest';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { jobWorld } from '../job-world.ts';

const CREATE =
  'mutation($name: String!) { createPixel(input: {name: $name, tag: "GTM-1", type: GTM}) { ... on Pixel { name } } }';

async function worldOfPixels() {
  const clock = new VirtualClock();
  const world = await jobWorld({ clock });
  const links = world.sandbox.links;
  return {
    ...world,
    links,
    /** The requests of a method, as the minutes after the first of them in which they arrived. */
    minutesOf(method: string): number[] {
      const times = links.requests.filter((each) => each.method === method).map(({ at }) => at);
      return times.map((at) => (at - (times[0] ?? 0)) / 60_000);
    },
    async results(id: string): Promise<Record<string, unknown>[]> {
      const text = await (await world.output(id)).text();
      return text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    },
  };
}

it('tries a line again while the API fails, then writes the error and goes on', async () => {
  const world = await worldOfPixels();
  const { data } = await world.send<{ channels: { nodes: { id: string; databaseId: number }[] } }>(
    '{ channels(first: 3) { nodes { id databaseId } } }',
  );
  const [never, later, now] = data.channels.nodes;
  const path = (row = never) => `/api/channel/${row?.databaseId}`;
  world.links.fault({ kind: 'error-500', method: 'GET', path: path(never) });
  world.links.fault({ kind: 'error-500', method: 'GET', path: path(later), times: 8 });
  world.links.clearLog();
  // The items are read after the change.
  const id = await world.changes(
    'mutation($id: ID!) { updateChannel(input: {id: $id, name: "new"}) { ... on Channel { name items { totalCount } } } }',
    [never, later, now].map((row) => ({ id: row?.id })),
  );
  const done = await world.reaches(id, ({ state }) => state === 'DONE');
  expect(done).toMatchObject({ failures: 1, rowsDone: 3 });
  const [first, ...others] = await world.results(id);
  const error = {
    code: 'UPSTREAM_UNAVAILABLE',
    path: ['updateChannel', 'items'],
    message: expect.any(String),
  };
  expect(first).toMatchObject({ line: 1, error });
  for (const each of others) {
    expect(each).toMatchObject({
      data: { updateChannel: { name: 'new', items: { totalCount: expect.any(Number) } } },
    });
    expect(each).not.toHaveProperty('error');
  }
  // Each retry has the key of its line.
  expect(world.minutesOf('PUT')).toHaveLength(3);
});

it('does not wait for a write whose outcome cannot be found out', async () => {
  const world = await worldOfPixels();
  world.links.fault({ kind: 'error-500', method: 'POST', containing: '"first"' });
  const id = await world.changes(
    CREATE,
    ['first', 'second'].map((name) => ({ name })),
  );
  await world.until(id, 'DONE');
  expect(await world.results(id)).toEqual([
    {
      line: 1,
      data: { createPixel: null },
      error: expect.objectContaining({ code: 'OUTCOME_UNKNOWN', check: 'Query.pixels' }),
    },
    { line: 2, data: { createPixel: { name: 'second' } } },
  ]);
  const { data } = await world.send<{ pixels: { totalCount: number } }>(
    '{ pixels(search: "first") { totalCount } }',
  );
  expect(data.pixels.totalCount).toBe(0);
  // It was looked for twice after the second request.
  const [sent = 0, again = 0, next = 0] = world.minutesOf('POST');
  expect(next - again).toBeLessThan(2 * (again - sent));
});

it('waits longer before each line while the API confirms none', async () => {
  const world = await worldOfPixels();
  const { data } = await world.send<{ channels: { nodes: { id: string }[] } }>(
    '{ channels(first: 1) { nodes { id } } }',
  );
  world.links.fault({ kind: 'error-500', method: 'PUT' });
  const lines = ['one', 'two', 'three', 'four', 'five'];
  const id = await world.changes(
    'mutation($id: ID!, $name: String!) { updateChannel(input: {id: $id, name: $name}) { __typename } }',
    lines.map((name) => ({ id: data.channels.nodes[0]?.id, name })),
  );
  await world.until(id, 'DONE');
  const names = world.links.requests
    .filter(({ method }) => method === 'PUT')
    .map(({ body }) => (body as { name: string }).name);
  const minutes = world.minutesOf('PUT');
  const [one = 0, two = 0, ...more] = lines.map((name) => minutes[names.indexOf(name)]);
  const [four = 0, five = 0] = more.slice(-2);
  expect(five - four).toBeGreaterThan(two - one);
});

it('is paused when the API rejects the key, and continues with the same line', async () => {
  const world = await worldOfPixels();
  world.links.fault({ kind: 'bad-key', method: 'POST', containing: '"second"' });
  const names = ['first', 'second', 'third'];
  const id = await world.changes(
    CREATE,
    names.map((name) => ({ name })),
  );
  const paused = await world.until(id, 'PAUSED');
  expect(paused).toMatchObject({ rowsDone: 1, error: { code: 'UPSTREAM_UNAUTHENTICATED' } });
  world.links.clearFaults();
  await world.send('mutation($id: ID!) { resumeJob(id: $id) { id } }', { id });
  await world.until(id, 'DONE');
  expect(await world.results(id)).toEqual(
    names.map((name, at) => ({ line: at + 1, data: { createPixel: { name } } })),
  );
});

it('says at which line it has stopped, and how many were executed', async () => {
  const world = await worldOfPixels();
  world.links.fault({
    kind: 'answer',
    method: 'POST',
    containing: '"second"',
    rewrite: (answer) => ({ ...answer, body: { error: 1, message: 'No.' } }),
  });
  const id = await world.changes(
    CREATE,
    ['first', 'second', 'third'].map((name) => ({ name })),
    { onError: 'STOP' },
  );
  const { error } = await world.until(id, 'FAILED');
  expect(error).toEqual({
    code: 'UPSTREAM_REJECTED',
    message: 'Line 2 failed: No. (2 of 3 lines were executed.)',
  });
  expect(world.minutesOf('POST')).toHaveLength(2);
});

it('leaves its limit per minute to whole lines', async () => {
  const world = await worldOfPixels();
  const twice = `mutation($one: String!, $two: String!) {
    one: createPixel(input: {name: $one, tag: "GTM-1", type: GTM}) { __typename }
    two: createPixel(input: {name: $two, tag: "GTM-1", type: GTM}) { __typename }
  }`;
  const lines = Array.from({ length: 4 }, (_, at) => ({ one: `one ${at}`, two: `two ${at}` }));
  const id = await world.changes(twice, lines, { maxPerMinute: 3 });
  await world.until(id, 'DONE');
  const minutes = world.minutesOf('POST');
  expect(minutes).toHaveLength(8);
  for (const minute of minutes) {
    const within = minutes.filter((each) => each >= minute && each < minute + 1);
    expect(within.length).toBeLessThanOrEqual(3);
  }
});

it('refuses lines with values of a wrong type before the first one is sent', async () => {
  const world = await worldOfPixels();
  const create =
    'mutation($type: PixelType!, $tag: String!) { createPixel(input: {name: "a", tag: $tag, type: $type}) { __typename } }';
  const lines = [
    { type: 'GTM', tag: 'GTM-1' },
    { type: 'NONSENSE', tag: 'GTM-1' },
    { type: 'GTM', tag: 5 },
    { type: 'GTM' },
  ];
  const id = await world.changes(create, lines);
  const { error } = await world.reaches(id, ({ state }) => state === 'FAILED');
  expect(error?.message).toContain('3 of 4 lines are invalid');
  expect(await world.results(id)).toMatchObject(
    [2, 3, 4].map((line) => ({ line, error: { code: 'BAD_USER_INPUT' } })),
  );
  expect(world.links.requests).toEqual([]);
});
