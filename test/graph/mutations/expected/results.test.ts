import { beforeEach, describe, expect, it } from 'vitest';
import type { Row, World } from '../../../support/gateway.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { Stage } from '../story.ts';
import { CHANNEL, Channels, conflict, done, type Updated } from './channels.ts';

const stage = new Stage();
let world: World;
beforeEach(() => {
  world = stage.world;
});

/** An update of each kind that changes a row from one state to another and back, with all members of `expected`. */
const updates = [
  {
    typename: 'BrandedDomain',
    list: 'domains',
    field: 'updateDomain',
    fields: 'redirectRoot redirect404',
    change: { redirectRoot: 'https://new.example' },
  },
  {
    typename: 'Campaign',
    list: 'campaigns',
    field: 'updateCampaign',
    fields: 'name public slug',
    change: { name: 'New' },
  },
  {
    typename: 'Channel',
    list: 'channels',
    field: 'updateChannel',
    fields: 'name description color starred',
    change: { name: 'New' },
  },
  {
    typename: 'Pixel',
    list: 'pixels',
    field: 'updatePixel',
    fields: 'name tag',
    change: { tag: 'NEW-1' },
  },
] as const;

type Update = (typeof updates)[number];

const mutationOf = ({ field, typename, fields }: Omit<Update, 'list' | 'change'>): string => {
  const name = field.replace('update', '');
  return `mutation ($input: Update${name}Input!, $expected: Expected${typename}) {
    updated: ${field}(input: $input, expected: $expected) {
      __typename
      ... on ${typename} { id }
      ... on Conflict { message differences current { id __typename ... on ${typename} { ${fields} } } }
      ... on InvalidInput { issues { path code params message } }
      ... on Rejected { message }
    }
  }`;
};

/** The last row of a list, read by another gateway, so that nothing is cached. */
async function lastOf({ list, fields }: Pick<Update, 'list' | 'fields'>) {
  const other = await stage.open();
  const read = `{ rows: ${list}(last: 1) { nodes { id ${fields} } } }`;
  const { rows } = await other.data<{ rows: { nodes: Row[] } }>(read);
  const { id, ...row } = rows.nodes[0] as Row;
  return { id: String(id), row };
}

describe.each(updates)('$field with `expected`', (update) => {
  const mutation = mutationOf(update);
  const { typename, list, fields, change } = update;
  const written = () => stage.written.length;

  it('changes an object that is as expected, at the cost of the write if it is cached', async () => {
    const { id, row } = await lastOf(update);
    await world.data(`{ rows: ${list}(first: 100) { nodes { id } } }`);
    world.forgetCalls();
    const { updated } = await world.data<{ updated: Updated }>(mutation, {
      input: { id, ...row, ...change },
      expected: row,
    });
    expect(updated).toEqual({ __typename: typename, id });
    expect(world.calls()).toHaveLength(1);
    const after = await lastOf(update);
    expect(after.row).toMatchObject(change);
  });

  it('reads the object first if it is not cached', async () => {
    const { id, row } = await lastOf(update);
    world.forgetCalls();
    const { updated } = await world.data<{ updated: Updated }>(mutation, {
      input: { id, ...row, ...change },
      expected: row,
    });
    expect(updated).toEqual({ __typename: typename, id });
    expect(world.calls().map((call) => call.split(' ')[0])).toEqual(['GET', 'PUT']);
  });

  it('returns the object as it is, and changes nothing, if it is not as expected', async () => {
    const { id, row } = await lastOf(update);
    const [first = '', ...others] = fields.split(' ');
    world.forgetCalls();
    const { updated } = await world.data<{ updated: Updated }>(mutation, {
      input: { id, ...row, ...change },
      expected: { ...row, [first]: 'https://other.example' },
    });
    expect(updated).toEqual({
      __typename: 'Conflict',
      message: expect.stringContaining(first),
      differences: [first],
      current: { __typename: typename, id, ...row },
    });
    expect(others).not.toHaveLength(0);
    expect(world.calls()).toHaveLength(1);
    expect(written()).toBe(0);
  });

  it('needs a member to compare, before anything is sent', async () => {
    const { id, row } = await lastOf(update);
    world.forgetCalls();
    const { updated } = await world.data<{ updated: Updated }>(mutation, {
      input: { id, ...row, ...change },
      expected: {},
    });
    expect(updated).toMatchObject({
      __typename: 'InvalidInput',
      issues: [{ path: ['expected'], code: 'REQUIRED_ANY_OF' }],
    });
    expect(updated.issues?.[0]?.['params']).toEqual({
      members: expect.arrayContaining(fields.split(' ')),
    });
    expect(world.calls()).toEqual([]);
  });

  it('is without effect as null', async () => {
    const { id, row } = await lastOf(update);
    world.forgetCalls();
    const { updated } = await world.data<{ updated: Updated }>(mutation, {
      input: { id, ...row, ...change },
      expected: null,
    });
    expect(updated).toEqual({ __typename: typename, id });
    expect(world.calls()).toHaveLength(1);
  });
});

const channels = new Channels(stage);

describe('What counts as equal', () => {
  it.each([
    [{ color: '#aabbcc' }, { color: '#abc' }],
    [{ color: '#abc' }, { color: '#AABBCC' }],
    [{ name: 'Café & Bar' }, { name: ' Café & Bar\n' }],
    [{ description: '' }, { description: null }],
    [{ description: '' }, { description: '  ' }],
    [{ starred: false }, { starred: false }],
  ])('%j is as expected by %j', async (state, expected) => {
    await channels.changeElsewhere(state);
    expect(await channels.change({ name: 'New' }, expected)).toMatchObject(done);
  });

  it.each([
    [{ color: '#aabbcc' }, { color: '#aabbcd' }],
    [{ color: '#aabbcc' }, { color: null }],
    [{ name: 'Café' }, { name: 'café' }],
    [{ name: 'Café' }, { name: null }],
    [{ description: 'x' }, { description: '' }],
    [{ description: '' }, { description: 'x' }],
    [{ starred: false }, { starred: true }],
    [{ starred: false }, { starred: null }],
  ])('%j is not as expected by %j', async (state, expected) => {
    await channels.changeElsewhere(state);
    const differing = Object.keys(expected);
    expect(await channels.change({ name: 'New' }, expected)).toMatchObject(conflict(...differing));
    expect(stage.written.filter(({ body }) => (body as Row)['name'] === 'New')).toEqual([]);
  });

  it('names all members that differ, and no other', async () => {
    await channels.changeElsewhere({
      name: 'A',
      description: 'd',
      color: '#000000',
      starred: true,
    });
    const expected = { starred: false, color: '#000', name: 'B' };
    expect(await channels.change({ name: 'New' }, expected)).toMatchObject(
      conflict('name', 'starred'),
    );
  });

  it('an object that does not exist is rejected, and nothing is written', async () => {
    world.forgetCalls();
    const { calls, ...updated } = await channels.change({ id: '999999', name: 'x' }, { name: 'x' });
    expect(calls).toBe(1);
    expect(updated).toEqual({ __typename: 'Rejected', message: expect.any(String) });
    expect(stage.written).toEqual([]);
  });
});

describe('The state that is compared', () => {
  const read = `{ channels(first: 100) { nodes { name } } }`;

  it('is read again if the cached one is past its ttl', async () => {
    const clock = new VirtualClock();
    const on = await stage.open({ clock });
    await channels.changeElsewhere({ name: 'A' });
    await on.data(read);
    await channels.changeElsewhere({ name: 'B' });
    await clock.advance(61_000);
    // A reader would still get the cached state.
    const { calls, ...updated } = await channels.change({ name: 'C' }, { name: 'A' }, on);
    expect(updated).toMatchObject({ ...conflict('name'), current: { name: 'B' } });
    expect(calls).toBe(1);
    expect(await channels.change({ name: 'C' }, { name: 'B' }, on)).toMatchObject({
      ...done,
      calls: 1,
    });
  });

  it('is never an old one because the new one cannot be read', async () => {
    const clock = new VirtualClock();
    const on = await stage.open({ clock });
    await channels.changeElsewhere({ name: 'A' });
    await on.data(read);
    await clock.advance(61_000);
    on.forgetCalls();
    stage.sandbox.links.fault({ kind: 'html', status: 502, method: 'GET' });
    const { errors } = await channels.ask({ name: 'B' }, { name: 'A' }, { on });
    expect(errors[0]?.extensions).toMatchObject({ code: expect.stringMatching(/^UPSTREAM_/) });
    expect(stage.written).toEqual([]);
    stage.sandbox.links.clearFaults();
    // The lock is released.
    expect(await channels.change({ name: 'C' }, undefined, on)).toMatchObject(done);
  });

  it('includes earlier updates of the same operation', async () => {
    await channels.changeElsewhere({ name: 'A' });
    const set = (alias: string, to: string, from: string) =>
      `${alias}: updateChannel(input: { id: ${CHANNEL}, name: "${to}" }, expected: { name: "${from}" }) {
        __typename ... on Conflict { current { ... on Channel { name } } }
      }`;
    const operation = `mutation { ${set('a', 'B', 'A')} ${set('b', 'C', 'B')} ${set('c', 'D', 'B')} }`;
    world.forgetCalls();
    expect(await world.data(operation)).toEqual({
      a: done,
      b: done,
      c: { __typename: 'Conflict', current: { name: 'C' } },
    });
    expect(world.calls().map((call) => call.split(' ')[0])).toEqual([
      'GET',
      'PUT',
      'GET',
      'PUT',
      'GET',
    ]);
  });

  it('is in `previous` of the result', async () => {
    await channels.changeElsewhere({ name: 'A', description: 'd' });
    const query = `mutation {
      updateChannel(input: { id: ${CHANNEL}, name: "B" }, expected: { name: "A" }) {
        ... on Channel { previous { name description } }
      }
    }`;
    const { updateChannel } = await world.data<{ updateChannel: Row }>(query);
    expect(updateChannel).toEqual({ previous: { name: 'A', description: 'd' } });
  });
});

describe('A dry run', () => {
  const plan = async (expected: Row) => {
    const headers = { 'x-gateway-dry-run': '1' };
    const { text } = await channels.ask({ name: 'B' }, expected, { headers });
    return JSON.parse(text).extensions.plan;
  };

  it('counts the write, and the read if the object is not cached', async () => {
    await channels.changeElsewhere({ name: 'A' });
    expect(await plan({ name: 'A' })).toMatchObject({ calls: 2 });
    await world.data('{ channels(first: 100) { nodes { name } } }');
    expect(await plan({ name: 'A' })).toMatchObject({ calls: 1, saved: { cache: 1 }, exact: true });
  });

  it('counts no write for an object that is known not to be as expected', async () => {
    await channels.changeElsewhere({ name: 'A' });
    await world.data('{ channels(first: 100) { nodes { name } } }');
    expect(await plan({ name: 'Z' })).toMatchObject({ calls: 0, saved: { cache: 1 }, exact: true });
    expect(stage.written).toHaveLength(1);
  });
});
