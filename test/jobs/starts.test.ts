import { describe, expect, it } from 'vitest';
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
});
