import { describe, expect, it } from 'vitest';
import { behavesWhenDisturbed, noes, yeses } from '../story.ts';
import { ChannelStage, type Channels, fields, globalId, list, page, trade } from './channels.ts';

const stage = new ChannelStage();

describe('Mutation.createChannel', () => {
  const path = '/api/channel/add';
  const mutation = 'createChannel(input: { name: "Tea & scones" })';
  /** What the sandbox, seeded alike each time, calls the next channel. */
  const next = 115;

  it('makes a channel, and answers all of it from the one call', async () => {
    const { result, calls } = await stage.change(
      `createChannel(input: {
        name: "Tea & scones", description: "Four o’clock", color: "#1f2A44", starred: true })`,
      `Channel { ${fields} }`,
    );
    expect(calls).toEqual([`POST ${path}`]);
    const body = { name: 'Tea & scones', description: 'Four o’clock', color: '#1f2A44' };
    expect(stage.written).toEqual([{ method: 'POST', path, body: { ...body, starred: true } }]);
    expect(result).toEqual({
      __typename: 'Channel',
      id: globalId(next),
      databaseId: next,
      ...body,
      starred: true,
    });
  });

  it('sends only what was given, and believes the upstream in the rest', async () => {
    const { result, calls } = await stage.change(
      'createChannel(input: { name: "Tea", description: null, color: null, starred: false })',
      'Channel { name description color starred }',
    );
    expect(stage.written).toEqual([
      { method: 'POST', path, body: { name: 'Tea', starred: false } },
    ]);
    expect(calls).toHaveLength(1);
    expect(result).toEqual({
      __typename: 'Channel',
      name: 'Tea',
      description: '',
      color: '#4C6FFF',
      starred: false,
    });
  });

  it('shows in every later read, also where it was known to be missing', async () => {
    const before = await stage.channels();
    expect(await stage.found(next)).toEqual([null, null, null]);
    expect(await stage.itemsOf(next)).toBeNull();
    expect(await stage.costOfItems(next)).toEqual([]);
    const { result } = await stage.change(mutation, `Channel { ${fields} }`);
    const { __typename, ...row } = result;
    expect(await stage.found(next)).toEqual([row, row, row]);
    expect(await stage.itemsOf(next)).toEqual([]);
    const after = await stage.channels();
    expect(after.totalCount).toBe(before.totalCount + 1);
    expect(after.nodes).toContainEqual(row);
  });

  it('drops the word that it is missing also when the outcome is not known', async () => {
    expect(await stage.itemsOf(next)).toBeNull();
    stage.sandbox.links.fault({ kind: 'drop', applied: true, path });
    const { errors } = await stage.change(mutation, 'Channel { id }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await stage.itemsOf(next)).toEqual([]);
  });

  it('leaves what is kept of other channels’ items', async () => {
    await stage.itemsOf(trade);
    await stage.change(mutation, 'Channel { id }');
    expect(await stage.costOfItems(trade)).toEqual([]);
  });

  it('finds every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'createChannel(input: { name: "  ", color: "red" })',
      'Channel { id }',
    );
    expect(result).toEqual({
      __typename: 'InvalidInput',
      message: 'The input has 2 validation errors.',
      issues: [
        { path: ['input', 'name'], message: 'must not be blank.' },
        { path: ['input', 'color'], message: 'must be a hex color: `#RRGGBB` or `#RGB`.' },
      ],
    });
    expect(calls).toEqual([]);
  });

  it.each(['', '1F2A44', '#1F2A4', '#1F2A4G', '#1F2A44FF', ' #1F2A44', 'rgb(1,2,3)'])(
    'finds the fault of the color "%s"',
    async (color) => {
      const { result, calls } = await stage.change(
        `createChannel(input: { name: "Tea", color: "${color}" })`,
        'Channel { id }',
      );
      expect(result.issues?.map((issue) => issue.path)).toEqual([['input', 'color']]);
      expect(calls).toEqual([]);
    },
  );

  it('lets a short color through', async () => {
    const { result } = await stage.change(
      'createChannel(input: { name: "Tea", color: "#aBc" })',
      'Channel { color }',
    );
    expect(result).toEqual({ __typename: 'Channel', color: '#aBc' });
  });

  it.each(
    yeses({ id: 7, name: 'Tea &amp; scones', description: '', color: '#000000', starred: true }),
  )('understands success %s', async (_, body, status) => {
    stage.answer(path, body, status);
    const { result, calls } = await stage.change(
      mutation,
      'Channel { databaseId name description color starred }',
    );
    expect(result).toEqual({
      __typename: 'Channel',
      databaseId: 7,
      name: 'Tea & scones',
      description: '',
      color: '#000000',
      starred: true,
    });
    expect(calls).toHaveLength(1);
  });

  it('takes what the answer leaves out from the input, and reads the rest with one page', async () => {
    stage.answer(path, { error: 0, id: String(trade) });
    const { result, calls } = await stage.change(
      'createChannel(input: { name: "Tea", starred: false })',
      'Channel { name description color starred }',
    );
    expect(result).toMatchObject({ name: 'Tea', color: '#1F6FEB', starred: false });
    expect(calls).toEqual([`POST ${path}`, page]);
  });

  it.each(noes)('understands a refusal with `error` %s', async (_, body, status, message) => {
    stage.answer(path, body, status);
    const { result } = await stage.change(mutation, 'Channel { id }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  behavesWhenDisturbed(stage, {
    mutation,
    typename: 'Channel',
    wire: { method: 'POST', path, body: { name: 'Tea & scones' } },
    check: 'Query.channels',
    look: list,
    times: ({ channels: { nodes } }: Channels) =>
      nodes.filter(({ name }) => name === 'Tea & scones').length,
  });
});
