import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../support/virtual-clock.ts';
import { jobWorld } from './job-world.ts';

describe('the start of an export', () => {
  const PIXELS = (type: string, argument: string) =>
    `query($value: ${type}) { pixels(${argument}: $value) { nodes { id } } }`;
  const ORDER = `query($order: ItemOrder!) { items(orderBy: $order) { nodes { id } } }`;

  it.each([
    ['an unknown value of an enum', PIXELS('PixelType', 'type'), { value: 'NONSENSE' }],
    ['a number for an enum', PIXELS('PixelType', 'type'), { value: 5 }],
    ['a text for a range', PIXELS('DateTimeRange', 'createdAt'), { value: 'today' }],
    ['an unknown member', PIXELS('DateTimeRange', 'createdAt'), { value: { nonsense: 1 } }],
    ['no date', PIXELS('DateTimeRange', 'createdAt'), { value: { from: 'soon' } }],
    ['a number for a text', PIXELS('String', 'search'), { value: 5 }],
    ['nothing for a required value', ORDER, {}],
    ['null for a required value', ORDER, { order: null }],
    ['an object without a member', ORDER, { order: {} }],
    [
      'null where the list needs a value',
      'query($yes: Boolean = true) { channels { nodes { id items(first: 1) @include(if: $yes) { totalCount } } } }',
      { yes: null },
    ],
  ])('refuses variables with %s, as a query does', async (_name, query, variables) => {
    const world = await jobWorld();
    const { errors } = await world.send(query, variables);
    expect(errors[0]?.extensions?.code).toBe('BAD_USER_INPUT');
    world.world.forgetCalls();
    await expect(world.exports(query, { variables })).rejects.toThrow(errors[0]?.message);
    const list = await world.send<{ jobs: { totalCount: number } }>('{ jobs { totalCount } }');
    expect(list.data.jobs.totalCount).toBe(0);
    expect(world.world.calls()).toEqual([]);
  });

  it.each([
    ['channels', '{ channels(search: "a") { nodes { id } } }'],
    ['items', '{ items(maxPrice: 1) { nodes { id } } }'],
    ['items', '{ items(orderBy: {field: PRICE}) { nodes { id } } }'],
    ['files', '{ files { nodes { id } } }'],
    ['qrCodes', '{ qrCodes { nodes { id } } }'],
    ['domains', '{ domains { nodes { id } } }'],
    ['campaigns', '{ campaigns(public: true) { nodes { id } } }'],
    ['overlays', '{ overlays { nodes { id } } }'],
    ['splashPages', '{ splashPages { nodes { id } } }'],
    ['pixels', '{ pixels { nodes { id } } }'],
  ])('exports %s again from what is cached: %s', async (_name, query) => {
    const world = await jobWorld();
    for (let times = 0; times < 2; times += 1) {
      await world.until(await world.exports(query), 'DONE');
    }
  });

  const START = `mutation($query: String!) {
    startExport(input: {query: $query, maxPerMinute: 1}) { ... on Job { id state } ... on InvalidInput { message } }
  }`;
  const SLOW = '{ channels { nodes { id items(first: 100) { nodes { __typename } } } } }';
  type World = Awaited<ReturnType<typeof jobWorld>>;
  const startsOf = (
    { send }: World,
    count: number,
    name: 'eli' | 'eve',
    headers: Readonly<Record<string, string>> = {},
    query = SLOW,
  ) =>
    Array.from({ length: count }, async () => {
      const { data, errors } = await send<{ startExport: { state?: string; message?: string } }>(
        START,
        { query },
        name,
        headers,
      );
      return data?.startExport?.state ?? errors[0]?.extensions?.code ?? 'INVALID';
    });
  const countsOf = (answers: readonly string[]) =>
    Object.fromEntries(
      [...new Set(answers)].map((each) => [each, answers.filter((one) => one === each).length]),
    );

  it('keeps the limit of a caller among starts at once, and leaves the others their places', async () => {
    const world = await jobWorld({ clock: new VirtualClock(), env: { jobsMax: '4' } });
    const many = startsOf(world, 60, 'eve');
    const few = startsOf(world, 2, 'eli');
    expect(countsOf(await Promise.all(few))).toEqual({ QUEUED: 2 });
    expect(countsOf(await Promise.all(many))).toEqual({ QUEUED: 2, TOO_MANY_JOBS: 58 });
    const { data } = await world.send<{ jobs: { totalCount: number } }>(
      '{ jobs { totalCount } }',
      {},
      'boss',
    );
    expect(data.jobs.totalCount).toBe(4);
  });

  it('keeps the limit of all callers among starts at once', async () => {
    const world = await jobWorld({ clock: new VirtualClock(), env: { jobsMax: '3' } });
    const all = [...startsOf(world, 20, 'eve'), ...startsOf(world, 20, 'eli')];
    expect(countsOf(await Promise.all(all))).toEqual({ QUEUED: 3, TOO_MANY_JOBS: 37 });
  });

  it('gives its place back if it is refused, or a dry run', async () => {
    const world = await jobWorld({ clock: new VirtualClock() });
    const refused = startsOf(world, 10, 'eve', {}, '{ jobs { nodes { id } } }');
    const answers = new Set(await Promise.all(refused));
    expect(answers).toContain('INVALID');
    const dry = { 'x-gateway-dry-run': '1' };
    await Promise.all(startsOf(world, 10, 'eve', dry));
    expect(countsOf(await Promise.all(startsOf(world, 2, 'eve')))).toEqual({ QUEUED: 2 });
  });

  it.each([
    ['starts', {}],
    ['dry runs of starts', { 'x-gateway-dry-run': '1' }],
  ])('of another caller takes its turn among many %s', async (_name, headers) => {
    const world = await jobWorld({ clock: new VirtualClock() });
    let answered = 0;
    const many = startsOf(world, 60, 'eve', headers).map(async (each) => {
      const state = await each;
      if (state !== 'TOO_MANY_JOBS') answered += 1;
    });
    await Promise.all(startsOf(world, 1, 'eli', headers));
    expect(answered).toBeLessThan(10);
    await Promise.all(many);
  });
});
