import { expect, it } from 'vitest';
import { VirtualClock } from '../support/virtual-clock.ts';
import { jobWorld } from './job-world.ts';

const RENAME = `mutation Rename($id: ID!, $name: String!) {
  updateChannel(input: {id: $id, name: $name}) { __typename ... on Channel { databaseId name } }
}`;

type World = Awaited<ReturnType<typeof jobWorld>>;
type Line = Readonly<Record<string, unknown>>;

async function channelsOf(world: World) {
  const { data } = await world.send<{
    channels: { nodes: { id: string; databaseId: number; name: string }[] };
  }>('{ channels(first: 100) { nodes { id databaseId name } } }');
  return data.channels.nodes;
}

async function resultsOf(world: World, id: string): Promise<Line[]> {
  const text = await (await world.output(id)).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** Writes that the sandbox has received. */
const writesTo = ({ sandbox }: World) =>
  sandbox.links.requests.filter(({ method }) => method === 'PUT' || method === 'POST');

it('executes each line once, in order, whenever the gateway is restarted', async () => {
  const world = await jobWorld();
  const rows = await channelsOf(world);
  const lines = rows.map(({ id }, at) => ({ id, name: `renamed ${at}` }));
  const id = await world.changes(RENAME, lines);
  let restarts = 0;
  for (;;) {
    const { rowsDone, state } = await world.job(id);
    if (state === 'DONE') break;
    if (rowsDone > 5 * restarts) {
      await world.restart();
      restarts += 1;
    }
  }
  expect(restarts).toBeGreaterThan(2);
  expect(await resultsOf(world, id)).toEqual(
    rows.map(({ databaseId }, at) => ({
      line: at + 1,
      data: { updateChannel: { __typename: 'Channel', databaseId, name: `renamed ${at}` } },
    })),
  );
  expect(writesTo(world)).toHaveLength(rows.length);
  expect((await channelsOf(world)).map(({ name }) => name)).toEqual(lines.map(({ name }) => name));
  expect(await world.job(id)).toMatchObject({
    kind: 'CHANGES',
    name: 'updateChannel',
    rowsDone: rows.length,
    rowsTotal: rows.length,
    lines: rows.length,
    failures: 0,
  });
});

it('sends nothing if a line is invalid, and says what is wrong with each', async () => {
  const world = await jobWorld();
  const [row] = await channelsOf(world);
  const id = await world.changes(
    RENAME,
    [
      JSON.stringify({ id: row?.id, name: 'good' }),
      '{"id": "x", ',
      '[]',
      JSON.stringify({ id: row?.id }),
      JSON.stringify({ id: row?.id, name: 'a', nam: 'b' }),
      JSON.stringify({ id: row?.id, name: '' }),
      JSON.stringify({ id: 'nonsense', name: 'a' }),
    ].join('\n'),
  );
  const failed = await world.until(id, 'FAILED');
  expect(failed.error).toEqual({
    code: 'BAD_USER_INPUT',
    message: '6 of 7 lines are invalid; the output says why. No change was sent.',
  });
  expect(writesTo(world)).toEqual([]);
  const results = await resultsOf(world, id);
  expect(results.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7]);
  for (const { error } of results) expect(error).toMatchObject({ code: 'BAD_USER_INPUT' });
  const { data } = await world.send<Record<string, { state: string }>>(
    'mutation($id: ID!) { resumeJob(id: $id) { state } }',
    { id },
  );
  expect(data['resumeJob']?.state).toBe('FAILED');
});

it('only checks, and says what the changes would cost', async () => {
  const world = await jobWorld();
  const rows = await channelsOf(world);
  const lines = rows.map(({ id }) => ({ id, name: 'new' }));
  const id = await world.changes(RENAME, lines, { checkOnly: true });
  const done = await world.until(id, 'DONE');
  expect(done).toMatchObject({ rowsTotal: rows.length, callsLeft: rows.length, callsSpent: 0 });
  expect(done.readyAt).not.toBeNull();
  expect(writesTo(world)).toEqual([]);
  expect(await resultsOf(world, id)).toEqual([]);
});

it('continues after a line that failed, or stops there and continues on demand', async () => {
  const world = await jobWorld();
  const [first, second, third] = await channelsOf(world);
  const lines = [first, { id: 'Q2hhbm5lbDo5OTk5OTk' }, second, third].map((row, at) => ({
    id: row?.id,
    name: `name ${at}`,
  }));
  const going = await world.changes(RENAME, lines);
  expect(await world.until(going, 'DONE')).toMatchObject({ failures: 1, rowsDone: 4 });
  expect((await resultsOf(world, going)).map(({ error }) => error !== undefined)).toEqual([
    false,
    true,
    false,
    false,
  ]);
  const stopping = await world.changes(RENAME, lines, { onError: 'STOP' });
  const stopped = await world.until(stopping, 'FAILED');
  expect(stopped).toMatchObject({ rowsDone: 2, failures: 1 });
  expect(stopped.error?.message).toMatch(/^Line 2 failed: /);
  await world.send('mutation($id: ID!) { resumeJob(id: $id) { id } }', { id: stopping });
  expect(await world.until(stopping, 'DONE')).toMatchObject({ rowsDone: 4, error: null });
});

it('makes no second object when the response to a creation is lost', async () => {
  const clock = new VirtualClock();
  const world = await jobWorld({ clock });
  // The pixel is created, and the gateway does not learn that.
  world.sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 2 });
  const id = await world.changes(
    'mutation($name: String!) { createPixel(input: {name: $name, tag: "GTM-1", type: GTM}) { ... on Pixel { name } } }',
    [{ name: 'one of three' }, { name: 'two of three' }, { name: 'three of three' }],
  );
  const done = await world.until(id, 'DONE');
  expect(done).toMatchObject({ failures: 0, rowsDone: 3 });
  expect((await resultsOf(world, id)).map(({ data }) => data)).toEqual([
    { createPixel: { name: 'one of three' } },
    { createPixel: { name: 'two of three' } },
    { createPixel: { name: 'three of three' } },
  ]);
  const { data } = await world.send<{ pixels: { totalCount: number } }>(
    '{ pixels(search: "of three") { totalCount } }',
  );
  expect(data.pixels.totalCount).toBe(3);
});

it('fails when the role of its owner is lowered', async () => {
  const clock = new VirtualClock();
  const world = await jobWorld({ clock });
  const rows = await channelsOf(world);
  const lines = rows.map(({ id }, at) => ({ id, name: `name ${at}` }));
  const id = await world.changes(RENAME, lines, { maxPerMinute: 1 });
  await world.reaches(id, ({ rowsDone }) => rowsDone > 1);
  world.allow({ boss: 'admin', eve: 'viewer' });
  const failed = await world.reaches(id, ({ state }) => state !== 'RUNNING');
  expect(failed).toMatchObject({ state: 'FAILED', error: { code: 'FORBIDDEN' } });
  const { rowsDone } = failed;
  world.allow();
  await clock.advance(10_000);
  await world.send('mutation($id: ID!) { resumeJob(id: $id) { id } }', { id });
  await world.reaches(id, (job) => job.rowsDone > rowsDone);
});

it.each([
  ['{ channels { nodes { id } } }', /need a mutation/],
  ['mutation($id: ID!) { cancelJob(id: $id) { id } }', /A job cannot do that/],
  ['mutation($name: String!) { createChannel(input: {name: $name}) { nonsense } }', /nonsense/],
])('refuses %s', async (mutation, reason) => {
  const world = await jobWorld();
  await expect(world.changes(mutation, [{}])).rejects.toThrow(reason);
});
