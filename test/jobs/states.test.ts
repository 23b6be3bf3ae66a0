import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../support/virtual-clock.ts';
import { jobWorld } from './job-world.ts';

const CHANNELS = '{ channels { nodes { id name } } }';
/** At one request a minute it is not complete before the clock is advanced. */
const SLOW = '{ channels { nodes { id items(first: 100) { nodes { __typename } } } } }';

type World = Awaited<ReturnType<typeof jobWorld>>;

async function turn(world: World, field: string, id: string, name?: 'boss' | 'eli' | 'eve') {
  const query = `mutation($id: ID!) { ${field}(id: $id) { state error { code } } }`;
  const { data, errors } = await world.send<Record<string, { state: string }>>(query, { id }, name);
  return data?.[field]?.state ?? errors[0]?.extensions?.code;
}

describe('a job', () => {
  it('is paused, continues where it was, and is canceled', async () => {
    const clock = new VirtualClock();
    const world = await jobWorld({ clock });
    const id = await world.exports(SLOW, { maxPerMinute: 1 });
    await world.reaches(id, ({ rowsDone }) => rowsDone > 0);
    expect(await turn(world, 'pauseJob', id)).toBe('PAUSED');
    const { rowsDone, readyAt } = await world.job(id);
    expect(readyAt).toBeNull();
    await clock.advance(600_000);
    expect(await world.job(id)).toMatchObject({ state: 'PAUSED', rowsDone });
    await world.restart();
    expect(await world.job(id)).toMatchObject({ state: 'PAUSED', rowsDone });
    expect(await turn(world, 'resumeJob', id)).toBe('QUEUED');
    const later = await world.reaches(id, (job) => job.rowsDone > rowsDone);
    expect(later.readyAt).not.toBeNull();
    expect(await turn(world, 'cancelJob', id)).toBe('CANCELED');
    expect(await turn(world, 'resumeJob', id)).toBe('CANCELED');
    expect((await world.output(id)).status).toBe(200);
  });

  it('belongs to its caller; an administrator sees all', async () => {
    const world = await jobWorld();
    const id = await world.exports(CHANNELS);
    await world.until(id, 'DONE');
    expect(await world.job(id, 'eli')).toBeNull();
    expect(await turn(world, 'cancelJob', id, 'eli')).toBe('BAD_USER_INPUT');
    const list = '{ jobs { totalCount nodes { id } } }';
    const of = async (name: 'boss' | 'eli') =>
      (await world.send<{ jobs: { totalCount: number } }>(list, {}, name)).data.jobs.totalCount;
    expect([await of('eli'), await of('boss')]).toEqual([0, 1]);
    const { url } = await world.job(id, 'boss');
    const download = (name: string) =>
      fetch(`${world.world.url}${url}`, { headers: { authorization: `Bearer ${name}` } });
    expect((await download('eli')).status).toBe(404);
    expect((await download('boss')).status).toBe(200);
    expect((await download('nobody')).status).toBe(401);
  });

  it('starts at its time, after a restart too', async () => {
    const clock = new VirtualClock();
    const world = await jobWorld({ clock });
    const startAt = new Date(clock.wall() + 3 * 3_600_000).toISOString();
    const id = await world.exports(CHANNELS, { startAt });
    await world.restart();
    await clock.advance(2 * 3_600_000);
    expect(await world.job(id)).toMatchObject({ state: 'QUEUED', callsSpent: 0 });
    await clock.advance(2 * 3_600_000);
    await world.until(id, 'DONE');
  });

  it('expires: first its output is removed, then the job', async () => {
    const clock = new VirtualClock();
    const world = await jobWorld({ clock, env: { jobsKeepMs: '3600000' } });
    const id = await world.exports(CHANNELS);
    await world.until(id, 'DONE');
    await clock.advance(3_700_000);
    const expired = await world.reaches(id, (job) => job.state === 'EXPIRED' && job.bytes === 0);
    expect(expired.url).toBeNull();
    await clock.advance(3_700_000);
    await expect.poll(() => world.job(id)).toBeNull();
  });

  it('fails when its owner loses the token, and keeps its file', async () => {
    const clock = new VirtualClock();
    const world = await jobWorld({ clock });
    const id = await world.exports(SLOW, { maxPerMinute: 1 });
    await world.reaches(id, ({ bytes }) => bytes > 0);
    world.allow({ boss: 'admin' });
    const { bytes, error, state } = await world.reaches(id, (job) => job.state !== 'RUNNING');
    expect({ state, code: error?.code }).toEqual({ state: 'FAILED', code: 'UNAUTHENTICATED' });
    expect(bytes).toBeGreaterThan(0);
    expect((await world.output(id, 'boss')).status).toBe(200);
  });

  it('is limited in number, for a caller and for all', async () => {
    const clock = new VirtualClock();
    const world = await jobWorld({ clock, env: { jobsMax: '3' } });
    const more = { maxPerMinute: 1 };
    const first = await world.exports(SLOW, more);
    await world.exports(SLOW, more);
    await expect(world.exports(SLOW, more)).rejects.toThrow('You have 2 jobs');
    await world.exports(SLOW, more, 'eli');
    await expect(world.exports(SLOW, more, 'eli')).rejects.toThrow('All callers have 3 jobs');
    await turn(world, 'cancelJob', first);
    await world.exports(SLOW, more, 'eli');
  });

  it('is started once by all requests with the same idempotency key', async () => {
    const world = await jobWorld();
    const start = async (query: string, name: 'eli' | 'eve' = 'eve') => {
      const { data, errors } = await world.send<{ startExport: { id: string } }>(
        'mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { id } } }',
        { query },
        name,
        { 'idempotency-key': 'a-key-of-a-test' },
      );
      return data?.startExport?.id ?? errors[0]?.extensions?.code;
    };
    const id = await start(CHANNELS);
    expect(await start(CHANNELS)).toBe(id);
    await world.restart();
    expect(await start(CHANNELS)).toBe(id);
    expect(await start('{ pixels { nodes { id } } }')).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(await start(CHANNELS, 'eli')).not.toBe(id);
  });

  it('is started once by requests with one key at the same time, of which one says so', async () => {
    const world = await jobWorld();
    const start = async () => {
      const { text } = await world.world.ask(
        'mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { id } } }',
        { query: CHANNELS },
        { authorization: 'Bearer eve', 'idempotency-key': 'a-key-of-two' },
      );
      const { data, extensions } = JSON.parse(text) as {
        data: { startExport: { id: string } };
        extensions: { idempotency: readonly { outcome: string; upstreamCalls: number }[] };
      };
      return { id: data.startExport.id, ...extensions.idempotency[0] };
    };
    const all = await Promise.all([start(), start(), start()]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(all.filter(({ outcome }) => outcome === 'EXECUTED')).toHaveLength(1);
    expect(all.filter(({ outcome }) => outcome === 'REPLAYED')).toHaveLength(2);
  });

  it('is not started by a dry run', async () => {
    const world = await jobWorld();
    await world.send(
      'mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { id } } }',
      { query: CHANNELS },
      'eve',
      { 'x-gateway-dry-run': '1' },
    );
    const { data } = await world.send<{ jobs: { totalCount: number } }>('{ jobs { totalCount } }');
    expect(data.jobs.totalCount).toBe(0);
  });

  it.each([
    ['off', /: The text is invalid: Cannot query field "nam" on type "Channel"\.$/],
    ['on', /Did you mean "name"/],
  ])('names similar fields only if the schema is public: INTROSPECTION=%s', async (on, message) => {
    const world = await jobWorld({ env: { INTROSPECTION: on } });
    await expect(world.exports('{ channels { nodes { nam } } }')).rejects.toThrow(message);
  });

  it('stores no other variables than those of its query', async () => {
    const world = await jobWorld();
    const others = Array.from({ length: 80 }, (_, n) => [`v${n}`, 'x'.repeat(9000)]);
    const id = await world.exports(CHANNELS, { variables: Object.fromEntries(others) });
    await world.until(id, 'DONE');
    const sizes: number[] = [];
    for await (const [, value] of world.world.store.read({ from: 'job/', to: 'job0' })) {
      sizes.push(value.length);
    }
    expect(sizes).toHaveLength(1);
    expect(sizes[0]).toBeLessThan(4096);
  });
});
