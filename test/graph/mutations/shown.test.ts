import { describe, expect, it } from 'vitest';
import type { Row, World } from '../../support/gateway.ts';
import { globalIdOf, Stage } from './story.ts';

const stage = new Stage();

const fields: Readonly<Record<string, readonly [list: string, fields: string]>> = {
  BrandedDomain: ['domains', 'id databaseId domain redirectRoot redirect404'],
  Campaign: ['campaigns', 'id databaseId name public rotatorUrl listUrl'],
  Channel: ['channels', 'id databaseId name description color starred'],
  Pixel: ['pixels', 'id databaseId type typeName name tag date'],
  QrCode: ['qrCodes', 'id databaseId name link scans date'],
  User: ['users', 'id databaseId email username status planId'],
};

const selectionOf = (type: string): string => fields[type]?.[1] ?? '';

/** All items of a type, in the order of the list. */
async function listOf(type: string, world: World = stage.world): Promise<readonly Row[]> {
  const [list, selection] = fields[type] ?? [];
  if (type === 'User')
    return (await world.data<{ users: Row[] }>(`{ users { ${selection} } }`)).users;
  const query = `{ list: ${list}(first: 500) { totalCount nodes { ${selection} } } }`;
  const { list: found } = await world.data<{ list: { totalCount: number; nodes: Row[] } }>(query);
  expect(found.totalCount).toBe(found.nodes.length);
  return found.nodes;
}

/** An item by each way to one. */
async function found(type: string, id: number, world: World = stage.world): Promise<unknown[]> {
  const root = { BrandedDomain: '', Pixel: '' }[type] ?? type[0]?.toLowerCase() + type.slice(1);
  const selection = selectionOf(type);
  const others =
    root && `byId: ${root}(id: $id) { ${selection} } byText: ${root}(id: ${id}) { ${selection} }`;
  const query = `query ($id: ID!) { node(id: $id) { ... on ${type} { ${selection} } } ${others} }`;
  return Object.values(await world.data(query, { id: globalIdOf(type, id) }));
}

describe('A creation shows in every later read, where the list was kept and the item known to be missing:', () => {
  it.each([
    ['BrandedDomain', 'createDomain(input: { domain: "https://go.example.org" })'],
    ['Campaign', 'createCampaign(input: { name: "Tea & scones" })'],
    ['Channel', 'createChannel(input: { name: "Tea & scones" })'],
    ['Pixel', 'createPixel(input: { type: GTM, name: "Tea & scones", tag: "GTM-1" })'],
    ['QrCode', 'createQrCode(input: { type: TEXT, data: { value: "Open" }, name: "Door" })'],
    [
      'User',
      'createUser(input: { username: "ivy.moss", email: "ivy@moss.example", password: "s3cret" })',
    ],
  ])('%s', async (type, mutation) => {
    const first = await stage.change(mutation, `${type} { databaseId }`);
    const id = Number(first.result['databaseId']);
    // The same ids are given again.
    stage.sandbox.reset();
    const world = await stage.open();
    const before = await listOf(type, world);
    for (const missing of await found(type, id, world)) expect(missing).toBeNull();
    const { result, calls } = await stage.change(
      mutation,
      `${type} { ${selectionOf(type)} }`,
      world,
    );
    expect(calls.length).toBeLessThanOrEqual(2);
    const { __typename, ...row } = result;
    expect(row).toMatchObject({ id: globalIdOf(type, id), databaseId: id });
    for (const each of await found(type, id, world)) expect(each).toEqual(row);
    const after = await listOf(type, world);
    expect(after).toHaveLength(before.length + 1);
    expect(after).toContainEqual(row);
  });
});

describe('An update shows in every later read, leaves alone what was not given, and takes either kind of id:', () => {
  const url = 'https://example.org/?a=1&b=2';
  it.each([
    [
      'BrandedDomain',
      10,
      'updateDomain',
      `redirectRoot: "${url}", redirect404: null`,
      { redirectRoot: url },
      '/api/domain/10/update',
    ],
    [
      'Campaign',
      53,
      'updateCampaign',
      'name: "New name", slug: null',
      { name: 'New name' },
      '/api/campaign/53/update',
    ],
    [
      'Channel',
      21,
      'updateChannel',
      'name: "Fair", color: "#000"',
      { name: 'Fair', color: '#000' },
      '/api/channel/21/update',
    ],
    [
      'Pixel',
      64,
      'updatePixel',
      'name: null, tag: "t2_new"',
      { tag: 't2_new' },
      '/api/pixel/64/update',
    ],
  ])('%s', async (type, id, field, input, changed, path) => {
    const before = await listOf(type);
    const row = before.find(({ databaseId }) => databaseId === id);
    await found(type, id);
    for (const name of [String(id), globalIdOf(type, id)]) {
      const { result, calls } = await stage.change(
        `${field}(input: { id: "${name}", ${input} })`,
        `${type} { id databaseId ${Object.keys(changed).join(' ')} }`,
      );
      expect(calls).toEqual([`PUT ${path}`]);
      expect(result).toEqual({
        __typename: type,
        id: globalIdOf(type, id),
        databaseId: id,
        ...changed,
      });
    }
    for (const each of await found(type, id)) expect(each).toEqual({ ...row, ...changed });
    expect(await listOf(type)).toEqual(
      before.map((each) => (each === row ? { ...row, ...changed } : each)),
    );
    const all = await stage.change(
      `${field}(input: { id: ${id}, ${input} })`,
      `${type} { ${selectionOf(type)} }`,
    );
    expect(all.result).toEqual({ __typename: type, ...row, ...changed });
    expect(all.calls.length).toBeLessThanOrEqual(2);
  });
});

describe('A deletion removes from every later read, at 1 call:', () => {
  it.each([
    ['BrandedDomain', 10, 'deleteDomain', '/api/domain/10/delete'],
    ['Campaign', 49, 'deleteCampaign', '/api/campaign/49/delete'],
    ['Channel', 21, 'deleteChannel', '/api/channel/21/delete'],
    ['Pixel', 64, 'deletePixel', '/api/pixel/64/delete'],
    ['QrCode', 431, 'deleteQrCode', '/api/qr/431/delete'],
    ['User', 41, 'deleteUser', '/api/user/41/delete'],
  ])('%s', async (type, id, field, path) => {
    const before = await listOf(type);
    for (const each of await found(type, id)) expect(each).not.toBeNull();
    const { result, calls } = await stage.change(
      `${field}(id: "${globalIdOf(type, id)}")`,
      'Deleted { deletedId databaseId }',
    );
    expect(result).toEqual({
      __typename: 'Deleted',
      deletedId: globalIdOf(type, id),
      databaseId: id,
    });
    expect(calls).toEqual([`DELETE ${path}`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path }]);
    for (const each of await found(type, id)) expect(each).toBeNull();
    expect(await listOf(type)).toEqual(before.filter(({ databaseId }) => databaseId !== id));
  });

  it('which somebody else has made, and no kept copy is shown any more', async () => {
    const id = globalIdOf('BrandedDomain', 10);
    await listOf('BrandedDomain');
    await fetch(`${stage.sandbox.links.url}/api/domain/10/delete`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${stage.sandbox.links.key}` },
    });
    expect(await found('BrandedDomain', 10)).not.toEqual([null]);
    const { result } = await stage.change(`deleteDomain(id: "${id}")`, 'Deleted { deletedId }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Domain does not exist' });
    expect(await found('BrandedDomain', 10)).toEqual([null]);
  });
});
