import { describe, expect, it } from 'vitest';
import type { Row } from '../../../support/gateway.ts';
import { behavesWhenDisturbed, yeses } from '../story.ts';
import { ChannelStage, type Channels, fields, globalId, list, page, trade } from './channels.ts';

const stage = new ChannelStage();

describe('Mutation.updateChannel', () => {
  const path = `/api/channel/${trade}/update`;

  it.each([
    ['name: "Fair"', { name: 'Fair' }],
    ['description: ""', { description: '' }],
    ['color: "#fff"', { color: '#fff' }],
    ['starred: false', { starred: false }],
    ['name: "Fair", description: null, starred: true', { name: 'Fair', starred: true }],
  ])(
    'sends of %s only what was given, and answers it without a further call',
    async (input, body) => {
      for (const id of [String(trade), globalId(trade)]) {
        const { result, calls } = await stage.change(
          `updateChannel(input: { id: "${id}", ${input} })`,
          `Channel { id databaseId ${Object.keys(body).join(' ')} }`,
        );
        expect(calls).toEqual([`PUT ${path}`]);
        expect(stage.written).toEqual([{ method: 'PUT', path, body }]);
        expect(result).toEqual({
          __typename: 'Channel',
          id: globalId(trade),
          databaseId: trade,
          ...body,
        });
      }
    },
  );

  it('reads what was not given with one page', async () => {
    const before = (await stage.found(trade))[0] as Row;
    const { result, calls } = await stage.change(
      `updateChannel(input: { id: ${trade}, name: "Fair" })`,
      `Channel { ${fields} }`,
    );
    expect(result).toEqual({ __typename: 'Channel', ...before, name: 'Fair' });
    expect(calls).toEqual([`PUT ${path}`, page]);
  });

  it('shows in every later read, and leaves the kept items', async () => {
    const before = await stage.channels();
    const [row] = (await stage.found(trade)) as Row[];
    await stage.itemsOf(trade);
    await stage.change(
      `updateChannel(input: { id: ${trade}, name: "Fair", color: "#000" })`,
      'Channel { id }',
    );
    const changed = { ...row, name: 'Fair', color: '#000' };
    expect(await stage.found(trade)).toEqual([changed, changed, changed]);
    expect((await stage.channels()).nodes).toEqual(
      before.nodes.map((each) => (each['databaseId'] === trade ? changed : each)),
    );
    expect(await stage.costOfItems(trade)).toEqual([]);
  });

  it('passes on that there is no such channel', async () => {
    const { result, calls } = await stage.change(
      'updateChannel(input: { id: 999999, starred: true })',
      'Channel { id }',
    );
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'Channel does not exist',
      upstream: 'LINKS',
    });
    expect(calls).toHaveLength(1);
  });

  it.each([
    ['{ id: 21 }', [['input']]],
    ['{ id: 21, name: null, description: null, color: null, starred: null }', [['input']]],
    ['{ id: "UGl4ZWw6Nw", description: "" }', [['input', 'id']]],
    [
      '{ id: 0, name: "", color: "" }',
      [
        ['input', 'id'],
        ['input', 'name'],
        ['input', 'color'],
      ],
    ],
  ])('finds every fault of %s, and spends no call', async (input, paths) => {
    const { result, calls } = await stage.change(
      `updateChannel(input: ${input})`,
      'Channel { id }',
    );
    expect(result.issues?.map((issue) => issue.path)).toEqual(paths);
    expect(calls).toEqual([]);
  });

  it.each([
    ...yeses({ message: 'Channel updated.' }),
    ...yeses({ id: trade, name: 'Fair', color: '#1f6feb', starred: true }),
  ])('understands success %s, a message or the channel', async (_, body, status) => {
    stage.answer(path, body, status);
    const { result, calls } = await stage.change(
      `updateChannel(input: { id: ${trade}, name: "Fair", starred: true })`,
      'Channel { databaseId name starred }',
    );
    expect(result).toEqual({
      __typename: 'Channel',
      databaseId: trade,
      name: 'Fair',
      starred: true,
    });
    expect(calls).toHaveLength(1);
  });

  it('believes an answer that contains more of the channel than the input', async () => {
    stage.answer(path, { error: 0, data: { id: '21', name: 'FAIR', color: '#ABC', starred: '0' } });
    const { result, calls } = await stage.change(
      `updateChannel(input: { id: ${trade}, name: "Fair" })`,
      'Channel { name color starred }',
    );
    expect(result).toEqual({ __typename: 'Channel', name: 'FAIR', color: '#ABC', starred: false });
    expect(calls).toHaveLength(1);
  });

  behavesWhenDisturbed(stage, {
    mutation: `updateChannel(input: { id: ${trade}, name: "Fair" })`,
    typename: 'Channel',
    wire: { method: 'PUT', path, body: { name: 'Fair' } },
    check: 'Query.channels',
    look: list,
    times: ({ channels: { nodes } }: Channels) =>
      nodes.filter(({ name }) => name === 'Fair').length,
  });
});
