import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { behavesWhenDisturbed, noes, Stage, yeses } from './story.ts';

const stage = new Stage();

interface Channels {
  readonly channels: { readonly nodes: readonly Row[]; readonly totalCount: number };
}

const fields = 'id databaseId name description color starred';
const list = `{ channels(first: 500) { totalCount nodes { ${fields} } } }`;
const page = 'GET /api/channels?limit=100&page=1';

async function channels(): Promise<Channels['channels']> {
  return (await stage.world.data<Channels>(list)).channels;
}

const globalId = (id: number) => Buffer.from(`Channel:${id}`).toString('base64url');

/** A channel by each of the three ways to one. */
async function found(id: number): Promise<unknown[]> {
  const data = await stage.world.data(
    `query ($id: ID!, $text: ID!) {
      node(id: $id) { ... on Channel { ${fields} } }
      channel(id: $id) { ${fields} }
      same: channel(id: $text) { ${fields} }
    }`,
    { id: globalId(id), text: String(id) },
  );
  return [data['node'], data['channel'], data['same']];
}

/** What stands in a channel, e.g. `LINKS:1041`; null when there is no such channel. */
async function itemsOf(id: number): Promise<string[] | null> {
  const { channel } = await stage.world.data<{ channel: Items | null }>(itemsQuery(id));
  return channel && keys(channel);
}

interface Items {
  readonly items: { readonly nodes: readonly Row[] };
}

const itemsQuery = (id: number) =>
  `{ channel(id: ${id}) { items(first: 500) { nodes { ... on ChannelEntry { type databaseId } } } } }`;

function keys({ items: { nodes } }: Items): string[] {
  return nodes.map(({ type, databaseId }) => `${String(type)}:${String(databaseId)}`);
}

/** The calls it takes to read what stands in a channel now. */
async function costOfItems(id: number): Promise<string[]> {
  stage.world.forgetCalls();
  await itemsOf(id);
  return stage.world.calls();
}

/** The read of a channel's only page of items. */
const itemsPage = (id: number) => `GET /api/channel/${id}?limit=100&page=1`;

/** Two that are seeded. */
const [trade, menus] = [21, 65];

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
    const before = await channels();
    expect(await found(next)).toEqual([null, null, null]);
    expect(await itemsOf(next)).toBeNull();
    expect(await costOfItems(next)).toEqual([]);
    const { result } = await stage.change(mutation, `Channel { ${fields} }`);
    const { __typename, ...row } = result;
    expect(await found(next)).toEqual([row, row, row]);
    expect(await itemsOf(next)).toEqual([]);
    const after = await channels();
    expect(after.totalCount).toBe(before.totalCount + 1);
    expect(after.nodes).toContainEqual(row);
  });

  it('drops the word that it is missing also when the outcome is not known', async () => {
    expect(await itemsOf(next)).toBeNull();
    stage.sandbox.links.fault({ kind: 'drop', applied: true, path });
    const { errors } = await stage.change(mutation, 'Channel { id }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await itemsOf(next)).toEqual([]);
  });

  it('leaves what is kept of other channels’ items', async () => {
    await itemsOf(trade);
    await stage.change(mutation, 'Channel { id }');
    expect(await costOfItems(trade)).toEqual([]);
  });

  it('finds every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'createChannel(input: { name: "  ", color: "red" })',
      'Channel { id }',
    );
    expect(result).toEqual({
      __typename: 'InvalidInput',
      message: 'The input has 2 faults.',
      issues: [
        { path: ['input', 'name'], message: 'must not be blank.' },
        { path: ['input', 'color'], message: 'must be a HEX color: `#RRGGBB` or `#RGB`.' },
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
    const before = (await found(trade))[0] as Row;
    const { result, calls } = await stage.change(
      `updateChannel(input: { id: ${trade}, name: "Fair" })`,
      `Channel { ${fields} }`,
    );
    expect(result).toEqual({ __typename: 'Channel', ...before, name: 'Fair' });
    expect(calls).toEqual([`PUT ${path}`, page]);
  });

  it('shows in every later read, and leaves the kept items', async () => {
    const before = await channels();
    const [row] = (await found(trade)) as Row[];
    await itemsOf(trade);
    await stage.change(
      `updateChannel(input: { id: ${trade}, name: "Fair", color: "#000" })`,
      'Channel { id }',
    );
    const changed = { ...row, name: 'Fair', color: '#000' };
    expect(await found(trade)).toEqual([changed, changed, changed]);
    expect((await channels()).nodes).toEqual(
      before.nodes.map((each) => (each['databaseId'] === trade ? changed : each)),
    );
    expect(await costOfItems(trade)).toEqual([]);
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

  it('believes an answer that tells the channel more than the input', async () => {
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

describe('Mutation.deleteChannel', () => {
  const path = `/api/channel/${trade}/delete`;

  it('removes the channel and its items from every later read, at 1 call', async () => {
    const before = await channels();
    expect(await itemsOf(trade)).toContain('QR:301');
    const { result, calls } = await stage.change(
      `deleteChannel(id: "${globalId(trade)}")`,
      'Deleted { id databaseId }',
    );
    expect(result).toEqual({ __typename: 'Deleted', id: globalId(trade), databaseId: trade });
    expect(calls).toEqual([`DELETE ${path}`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path }]);
    expect(await itemsOf(trade)).toBeNull();
    expect(await found(trade)).toEqual([null, null, null]);
    const after = await channels();
    expect(after.totalCount).toBe(before.totalCount - 1);
    expect(after.nodes).toEqual(before.nodes.filter(({ databaseId }) => databaseId !== trade));
  });

  it('leaves the items themselves, and the other channels they stand in, at no further call', async () => {
    const kept = await itemsOf(menus);
    expect(kept).toContain('QR:301');
    await stage.change(`deleteChannel(id: ${trade})`, 'Deleted { id }');
    expect(await costOfItems(menus)).toEqual([]);
    expect(await itemsOf(menus)).toEqual(kept);
    const { qrCode } = await stage.world.data('{ qrCode(id: 301) { databaseId } }');
    expect(qrCode).toEqual({ databaseId: 301 });
  });

  it('passes on that there is no such channel', async () => {
    const { result } = await stage.change('deleteChannel(id: 999999)', 'Deleted { id }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Channel does not exist' });
  });

  it('finds the fault of an id, and spends no call', async () => {
    const { result, calls } = await stage.change('deleteChannel(id: "0")', 'Deleted { id }');
    expect(result.issues).toEqual([{ path: ['id'], message: expect.any(String) }]);
    expect(calls).toEqual([]);
  });

  behavesWhenDisturbed(stage, {
    mutation: `deleteChannel(id: ${trade})`,
    typename: 'Deleted',
    wire: { method: 'DELETE', path },
    check: 'Query.channels',
    look: `{ channels(first: 500) { totalCount nodes { databaseId } } ${itemsQuery(trade).slice(1)}`,
    times: (data: Channels & { readonly channel: unknown }) => {
      const listed = data.channels.nodes.some(({ databaseId }) => databaseId === trade);
      expect(data.channel === null).toBe(!listed);
      return listed ? 0 : 1;
    },
  });
});

describe('Mutation.assignItemToChannel', () => {
  /** Links that stand in other channels only: 1172 in two of them. */
  const [link, shared] = [1053, 1172];
  const path = `/api/channel/${trade}/assign/links/${link}`;
  const mutation = `assignItemToChannel(channelId: ${trade}, type: LINKS, itemId: ${link})`;

  it.each([
    ['LINKS', 'links', link],
    ['BIO', 'bio', 61],
    ['QR', 'qr', 440],
  ])('puts an item of type %s into a channel at 1 call', async (type, spelling, item) => {
    for (const id of [String(trade), globalId(trade)]) {
      const { result, calls } = await stage.change(
        `assignItemToChannel(channelId: "${id}", type: ${type}, itemId: ${item})`,
        'Channel { id databaseId }',
      );
      expect(result).toEqual({ __typename: 'Channel', id: globalId(trade), databaseId: trade });
      const request = `/api/channel/${trade}/assign/${spelling}/${item}`;
      expect(calls).toEqual([`POST ${request}`]);
      expect(stage.written).toEqual([{ method: 'POST', path: request }]);
    }
    expect((await itemsOf(trade))?.filter((key) => key === `${type}:${item}`)).toHaveLength(1);
  });

  it('shows in the items it answers itself, and in those that were kept, at 1 page', async () => {
    const before = await itemsOf(trade);
    expect(before).not.toContain(`LINKS:${link}`);
    const { result, calls } = await stage.change(
      mutation,
      'Channel { items { nodes { ... on ChannelEntry { type databaseId } } } }',
    );
    const after = [`LINKS:${link}`, ...(before ?? [])];
    expect(keys(result as unknown as Items)).toEqual(after);
    expect(calls).toEqual([`POST ${path}`, itemsPage(trade)]);
    expect(await costOfItems(trade)).toEqual([]);
    expect(await itemsOf(trade)).toEqual(after);
  });

  it('reads of the channel what is selected, with one page', async () => {
    const [row] = (await found(trade)) as Row[];
    const { result, calls } = await stage.change(mutation, `Channel { ${fields} }`);
    expect(result).toEqual({ __typename: 'Channel', ...row });
    // The row itself has not changed, and is still kept.
    expect(calls).toEqual([`POST ${path}`]);
    const other = await stage.open();
    const again = await stage.change(mutation, `Channel { ${fields} }`, other);
    expect(again.calls).toEqual([`POST ${path}`, page]);
  });

  it('leaves what is kept of other channels, unless the item stands there', async () => {
    const [holding, holdingToo, without] = [54, menus, 29];
    for (const id of [trade, holding, holdingToo, without]) await itemsOf(id);
    await stage.change(
      `assignItemToChannel(channelId: ${trade}, type: LINKS, itemId: ${shared})`,
      'Channel { id }',
    );
    expect(await costOfItems(without)).toEqual([]);
    expect(await costOfItems(holding)).toEqual([itemsPage(holding)]);
    expect(await costOfItems(holdingToo)).toEqual([itemsPage(holdingToo)]);
    expect(await costOfItems(trade)).toEqual([itemsPage(trade)]);
  });

  it('believes an upstream that takes the item out of the channel where it stood', async () => {
    const holding = 54;
    expect(await itemsOf(holding)).toContain(`LINKS:${shared}`);
    await stage.change(
      `assignItemToChannel(channelId: ${trade}, type: LINKS, itemId: ${shared})`,
      'Channel { id }',
    );
    stage.sandbox.links.fault({
      kind: 'answer',
      path: `/api/channel/${holding}`,
      rewrite: (answer) => {
        const { data } = answer.body as { data: { items: Row[] } };
        data.items = data.items.filter(({ type, id }) => type !== 'links' || id !== shared);
        return answer;
      },
    });
    expect(await itemsOf(holding)).not.toContain(`LINKS:${shared}`);
  });

  it('keeps nothing of another channel’s items that were on their way meanwhile', async () => {
    const other = 29;
    // The very first request of a gateway goes alone.
    await channels();
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const query = { kind: 'hold', until, applied: true, times: 1 } as const;
    stage.sandbox.links.fault({ ...query, path: `/api/channel/${other}` });
    const early = itemsOf(other);
    await stage.met('hold');
    await stage.change(mutation, 'Channel { id }');
    const late = itemsOf(other);
    release();
    expect(await early).toEqual(await late);
    expect(stage.world.calls()).toEqual([`POST ${path}`, itemsPage(other)]);
    expect(await costOfItems(other)).toEqual([]);
  });

  it('leaves the kept list of channels', async () => {
    await channels();
    await stage.change(mutation, 'Channel { id }');
    stage.world.forgetCalls();
    await channels();
    expect(stage.world.calls()).toEqual([]);
  });

  it.each([
    [999_999, link, 'Channel does not exist'],
    [trade, 999_999, 'Item does not exist'],
  ])('passes on why channel %i takes no link %i', async (channel, item, message) => {
    const { result, calls } = await stage.change(
      `assignItemToChannel(channelId: ${channel}, type: LINKS, itemId: ${item})`,
      'Channel { id }',
    );
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
    expect(calls).toHaveLength(1);
  });

  it('finds every fault of its arguments, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'assignItemToChannel(channelId: "x", type: QR, itemId: 0)',
      'Channel { id }',
    );
    expect(result.issues?.map((issue) => issue.path)).toEqual([['channelId'], ['itemId']]);
    expect(calls).toEqual([]);
  });

  it.each(yeses({ message: 'Assigned.' }))('understands success %s', async (_, body, status) => {
    stage.answer(path, body, status);
    const { result, calls } = await stage.change(mutation, 'Channel { databaseId }');
    expect(result).toEqual({ __typename: 'Channel', databaseId: trade });
    expect(calls).toHaveLength(1);
  });

  behavesWhenDisturbed(stage, {
    mutation,
    typename: 'Channel',
    wire: { method: 'POST', path },
    check: 'Channel.items',
    look: itemsQuery(trade),
    times: ({ channel }: { readonly channel: Items }) =>
      keys(channel).filter((key) => key === `LINKS:${link}`).length,
  });
});

describe('Query.channel', () => {
  it('reads of a channel nothing but its items when nothing else is selected', async () => {
    expect(await costOfItems(trade)).toEqual([itemsPage(trade)]);
  });

  it('answers null for a channel that is not there, whatever is selected', async () => {
    expect(await itemsOf(999_999)).toBeNull();
    expect(await found(999_999)).toEqual([null, null, null]);
  });
});
