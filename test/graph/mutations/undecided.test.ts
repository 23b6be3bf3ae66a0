import { describe, expect, it } from 'vitest';
import { type Field, KeyedStage, type Reply } from './keyed-stage.ts';

const stage = new KeyedStage();
const globalId = (typename: string, id: number) =>
  Buffer.from(`${typename}:${id}`).toString('base64url');

const channel: Field = {
  field: 'createChannel(input: { name: "Tunnel", starred: true })',
  typename: 'Channel',
};
const pixel: Field = {
  field: 'createPixel(input: { name: "Tunnel", type: GA, tag: "G-1" })',
  typename: 'Pixel',
};
const code: Field = {
  field: 'createQrCode(input: { type: TEXT, data: { value: "x" } })',
  typename: 'QrCode',
};

/** Loses the response to the first write, and creates rows elsewhere before the gateway looks. */
async function lose(
  mutation: Field,
  {
    applied,
    elsewhere = [],
  }: { readonly applied: boolean; readonly elsewhere?: readonly [string, object][] },
): Promise<Reply & { readonly others: readonly number[] }> {
  stage.world.forgetCalls();
  stage.world.sandbox.links.fault({ kind: 'drop', applied, method: 'POST', times: 1 });
  const sent = stage.send(mutation);
  const others: number[] = [];
  await stage.met();
  for (const [path, body] of elsewhere) others.push(await stage.createElsewhere(path, body));
  return { ...(await sent), others };
}

const writes = () => stage.world.calls().filter((call) => call.startsWith('POST'));
const newest = async (path: string, key: string) =>
  Number((await stage.rows(path, key))[0]?.['id']);
const cacheChannels = () => stage.world.data('{ channels(first: 1) { totalCount } }');

describe('an outcome is unknown, and the candidates are named,', () => {
  it('if two new rows equal the input', async () => {
    const { errors, others } = await lose(pixel, {
      applied: true,
      elsewhere: [['/api/pixel/add', { name: 'Tunnel', type: 'gapixel', tag: 'G-1' }]],
    });
    const own = (await stage.rows('/api/pixels', 'pixels')).filter(({ name }) => name === 'Tunnel');
    expect(own).toHaveLength(2);
    const candidates = own.map(({ id }) => globalId('Pixel', Number(id)));
    expect(candidates).toContain(globalId('Pixel', others[0] ?? 0));
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      check: 'Query.pixels',
    });
    expect(new Set(errors?.[0]?.extensions?.['candidates'] as string[])).toEqual(
      new Set(candidates),
    );
    expect(errors?.[0]?.extensions).not.toHaveProperty('retryAfterMs');
    expect(writes()).toHaveLength(1);
  });

  it('if a new row is similar to the input', async () => {
    await cacheChannels();
    const { errors, others } = await lose(channel, {
      applied: false,
      elsewhere: [['/api/channel/add', { name: 'TUNNEL!', starred: false }]],
    });
    const candidates = others.map((id) => globalId('Channel', id));
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', candidates });
    expect(writes()).toHaveLength(1);
  });

  it('if nothing says which of the new rows it is', async () => {
    const { errors } = await lose(code, { applied: true });
    const id = await newest('/api/qr', 'qrs');
    const candidates = [globalId('QrCode', id)];
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', candidates });
  });

  it('if it is unknown whether a row is new', async () => {
    const { errors } = await lose(channel, { applied: true });
    const candidates = [globalId('Channel', await newest('/api/channels', 'channels'))];
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', candidates });
    expect(writes()).toHaveLength(1);
  });
});

it('candidates stay the answer to a retry, without another request', async () => {
  const first = await lose(code, { applied: true });
  stage.world.forgetCalls();
  const { errors } = await stage.send(code);
  expect(errors?.[0]?.extensions).toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    candidates: first.errors?.[0]?.extensions?.['candidates'],
  });
  expect(stage.world.calls()).toEqual([]);
});

describe('another client does not confuse the gateway', () => {
  it('with a row of another content', async () => {
    await cacheChannels();
    const { data, others } = await lose(channel, {
      applied: true,
      elsewhere: [['/api/channel/add', { name: 'Bridge', starred: true }]],
    });
    expect(others).not.toContain(data?.result['databaseId']);
    expect(data?.result).toMatchObject({ kind: 'Channel' });
  });

  it('with an equal row that was there before', async () => {
    const old = await stage.createElsewhere('/api/channel/add', { name: 'Tunnel', starred: true });
    await cacheChannels();
    const { data } = await lose(channel, { applied: true });
    expect(data?.result['databaseId']).toBe(old + 1);
  });
});

it('an assignment that is refused when its key sends it again stays unknown', async () => {
  const item = await newest('/api/qr', 'qrs');
  const id = await newest('/api/channels', 'channels');
  const mutation = {
    field: `assignItemToChannel(channelId: ${id}, type: QR, itemId: ${item})`,
    typename: 'Channel',
  };
  const { links } = stage.world.sandbox;
  links.fault({ kind: 'drop', applied: true, method: 'POST', times: 1 });
  const first = await stage.send(mutation);
  expect(first.errors?.[0]?.extensions).toMatchObject({ retryAfterMs: expect.any(Number) });
  links.fault({
    kind: 'answer',
    method: 'POST',
    times: 1,
    rewrite: ({ headers }) => ({
      status: 200,
      headers,
      body: { error: 1, message: 'The item is already in this channel.' },
    }),
  });
  const { errors } = await stage.send(mutation);
  expect(errors?.[0]?.extensions).toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    check: 'Channel.items',
  });
  expect(errors?.[0]?.extensions).not.toHaveProperty('retryAfterMs');
});
