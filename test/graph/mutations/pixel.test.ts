import { describe, expect, it } from 'vitest';
import { pixelTypes } from '../../../src/links/brand/pixel.ts';
import type { Row } from '../../support/gateway.ts';
import { behavesWhenDisturbed, noes, Stage, yeses } from './story.ts';

const stage = new Stage();

interface Pixels {
  readonly pixels: { readonly nodes: readonly Row[]; readonly totalCount: number };
}

const fields = 'id databaseId type typeName name tag date';
const list = `{ pixels(first: 500) { totalCount nodes { ${fields} } } }`;
const page = 'GET /api/pixels?limit=100&page=1';

async function pixels(): Promise<Pixels['pixels']> {
  return (await stage.world.data<Pixels>(list)).pixels;
}

const globalId = (id: number) => Buffer.from(`Pixel:${id}`).toString('base64url');

async function node(id: number): Promise<unknown> {
  const query = `query ($id: ID!) { node(id: $id) { ... on Pixel { ${fields} } } }`;
  return (await stage.world.data(query, { id: globalId(id) }))['node'];
}

/** One that is seeded: a Reddit pixel. */
const seeded = 64;

describe('Mutation.createPixel', () => {
  const path = '/api/pixel/add';
  const mutation = 'createPixel(input: { type: GTM, name: "Tea & scones", tag: "GTM-1" })';
  const body = { type: 'gtmpixel', name: 'Tea & scones', tag: 'GTM-1' };

  it('makes a pixel, and answers what was given without a further call', async () => {
    const { result, calls } = await stage.change(
      mutation,
      'Pixel { id databaseId type typeName name tag }',
    );
    expect(calls).toEqual([`POST ${path}`]);
    expect(stage.written).toEqual([{ method: 'POST', path, body }]);
    const id = Number(result['databaseId']);
    expect(result).toEqual({
      __typename: 'Pixel',
      id: globalId(id),
      databaseId: id,
      type: 'GTM',
      typeName: 'gtmpixel',
      name: 'Tea & scones',
      tag: 'GTM-1',
    });
  });

  it.each(Object.entries(pixelTypes))('spells the type %s as %s', async (type, spelling) => {
    const { result } = await stage.change(
      `createPixel(input: { type: ${type}, name: "x", tag: "y" })`,
      'Pixel { type typeName }',
    );
    expect(stage.written).toMatchObject([{ body: { type: spelling } }]);
    expect(result).toEqual({ __typename: 'Pixel', type, typeName: spelling });
    expect((await pixels()).nodes[0]).toMatchObject({ type, typeName: spelling });
  });

  it('reads the date, which no response contained, with one page', async () => {
    const { result, calls } = await stage.change(mutation, `Pixel { ${fields} }`);
    expect(calls).toEqual([`POST ${path}`, page]);
    const { __typename, ...row } = result;
    expect(row['date']).toEqual(expect.any(String));
    expect(await node(Number(row['databaseId']))).toEqual(row);
  });

  it('shows in the list and as a node, also where the list was kept', async () => {
    const before = await pixels();
    const { result } = await stage.change(mutation, 'Pixel { databaseId }');
    const after = await pixels();
    expect(after.totalCount).toBe(before.totalCount + 1);
    const made = after.nodes.find(({ databaseId }) => databaseId === result['databaseId']);
    expect(made).toMatchObject({ type: 'GTM', name: 'Tea & scones', tag: 'GTM-1' });
    expect(await node(Number(result['databaseId']))).toEqual(made);
  });

  it('finds every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'createPixel(input: { type: GA, name: " ", tag: "" })',
      'Pixel { id }',
    );
    expect(result).toEqual({
      __typename: 'InvalidInput',
      message: 'The input has 2 validation errors.',
      issues: [
        { path: ['input', 'name'], message: 'must not be blank.' },
        { path: ['input', 'tag'], message: 'must not be blank.' },
      ],
    });
    expect(calls).toEqual([]);
  });

  it.each(yeses({ id: 7 }))('understands success %s', async (_, answer, status) => {
    stage.answer(path, answer, status);
    const { result, calls } = await stage.change(mutation, 'Pixel { databaseId type name tag }');
    expect(result).toEqual({
      __typename: 'Pixel',
      databaseId: 7,
      type: 'GTM',
      name: 'Tea & scones',
      tag: 'GTM-1',
    });
    expect(calls).toHaveLength(1);
  });

  it('believes an answer that contains more of the pixel than the input', async () => {
    const data = { id: '7', type: 'newpixel', name: 'Tea &amp; cake', tag: 12 };
    stage.answer(path, { error: 0, data: { ...data, date: '2026-01-31 09:30:00' } });
    const { result, calls } = await stage.change(mutation, `Pixel { ${fields} }`);
    expect(result).toEqual({
      __typename: 'Pixel',
      id: globalId(7),
      databaseId: 7,
      type: null,
      typeName: 'newpixel',
      name: 'Tea & cake',
      tag: '12',
      date: '2026-01-31T09:30:00Z',
    });
    expect(calls).toHaveLength(1);
  });

  it('knows no outcome of an answer without an id', async () => {
    stage.answer(path, { error: 0, message: 'Pixel created.' });
    const { errors } = await stage.change(mutation, 'Pixel { id }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', check: 'Query.pixels' });
  });

  it.each(noes)('understands a refusal with `error` %s', async (_, answer, status, message) => {
    stage.answer(path, answer, status);
    const { result } = await stage.change(mutation, 'Pixel { id }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  behavesWhenDisturbed(stage, {
    mutation,
    typename: 'Pixel',
    wire: { method: 'POST', path, body },
    check: 'Query.pixels',
    look: list,
    times: ({ pixels: { nodes } }: Pixels) =>
      nodes.filter(({ name }) => name === 'Tea & scones').length,
  });
});

describe('Mutation.updatePixel', () => {
  const path = `/api/pixel/${seeded}/update`;

  it('changes name and tag by either kind of id, and answers them without a further call', async () => {
    for (const id of [String(seeded), globalId(seeded)]) {
      const { result, calls } = await stage.change(
        `updatePixel(input: { id: "${id}", name: "New name", tag: "t2_new" })`,
        'Pixel { id databaseId name tag }',
      );
      expect(result).toEqual({
        __typename: 'Pixel',
        id: globalId(seeded),
        databaseId: seeded,
        name: 'New name',
        tag: 't2_new',
      });
      expect(calls).toEqual([`PUT ${path}`]);
      expect(stage.written).toEqual([
        { method: 'PUT', path, body: { name: 'New name', tag: 't2_new' } },
      ]);
    }
  });

  it('leaves alone what was not given, and reads it with one page', async () => {
    const before = (await node(seeded)) as Row;
    const { result, calls } = await stage.change(
      `updatePixel(input: { id: ${seeded}, name: null, tag: "t2_new" })`,
      `Pixel { ${fields} }`,
    );
    expect(stage.written).toMatchObject([{ body: { tag: 't2_new' } }]);
    expect(stage.written[0]?.body).toEqual({ tag: 't2_new' });
    expect(result).toEqual({ __typename: 'Pixel', ...before, tag: 't2_new' });
    expect(calls).toEqual([`PUT ${path}`, page]);
  });

  it('shows in every later read', async () => {
    const before = await pixels();
    await stage.change(
      `updatePixel(input: { id: ${seeded}, name: "New name", tag: "t2_new" })`,
      'Pixel { id }',
    );
    const changed = { name: 'New name', tag: 't2_new' };
    expect(await node(seeded)).toMatchObject(changed);
    expect((await pixels()).nodes).toEqual(
      before.nodes.map((row) => (row['databaseId'] === seeded ? { ...row, ...changed } : row)),
    );
  });

  it('passes on that there is no such pixel', async () => {
    const { result, calls } = await stage.change(
      'updatePixel(input: { id: 999999, tag: "x" })',
      'Pixel { id }',
    );
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'Pixel does not exist',
      upstream: 'LINKS',
    });
    expect(calls).toHaveLength(1);
  });

  it('finds every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'updatePixel(input: { id: "Q2hhbm5lbDo3", name: "", tag: "\\t" })',
      'Pixel { id }',
    );
    expect(result.issues?.map((issue) => issue.path)).toEqual([
      ['input', 'id'],
      ['input', 'name'],
      ['input', 'tag'],
    ]);
    expect(calls).toEqual([]);
  });

  it.each(yeses({ message: 'Updated.' }))('understands success %s', async (_, answer, status) => {
    stage.answer(path, answer, status);
    const { result, calls } = await stage.change(
      `updatePixel(input: { id: ${seeded}, tag: "t2_new" })`,
      'Pixel { databaseId tag }',
    );
    expect(result).toEqual({ __typename: 'Pixel', databaseId: seeded, tag: 't2_new' });
    expect(calls).toHaveLength(1);
  });

  behavesWhenDisturbed(stage, {
    mutation: `updatePixel(input: { id: ${seeded}, tag: "t2_new" })`,
    typename: 'Pixel',
    wire: { method: 'PUT', path, body: { tag: 't2_new' } },
    check: 'Query.pixels',
    look: list,
    times: ({ pixels: { nodes } }: Pixels) => nodes.filter(({ tag }) => tag === 't2_new').length,
  });
});

describe('Mutation.deletePixel', () => {
  const path = `/api/pixel/${seeded}/delete`;

  it('removes the pixel from every later read, at 1 call', async () => {
    const before = await pixels();
    expect(await node(seeded)).not.toBeNull();
    const { result, calls } = await stage.change(
      `deletePixel(id: "${globalId(seeded)}")`,
      'Deleted { deletedId databaseId }',
    );
    expect(result).toEqual({
      __typename: 'Deleted',
      deletedId: globalId(seeded),
      databaseId: seeded,
    });
    expect(calls).toEqual([`DELETE ${path}`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path }]);
    expect(await node(seeded)).toBeNull();
    const after = await pixels();
    expect(after.totalCount).toBe(before.totalCount - 1);
    expect(after.nodes).toEqual(before.nodes.filter(({ databaseId }) => databaseId !== seeded));
  });

  it('passes on that there is no such pixel', async () => {
    const { result } = await stage.change('deletePixel(id: 999999)', 'Deleted { deletedId }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Pixel does not exist' });
  });

  it('finds the fault of an id, and spends no call', async () => {
    const { result, calls } = await stage.change('deletePixel(id: "-64")', 'Deleted { deletedId }');
    expect(result.issues).toEqual([{ path: ['id'], message: expect.any(String) }]);
    expect(calls).toEqual([]);
  });

  behavesWhenDisturbed(stage, {
    mutation: `deletePixel(id: ${seeded})`,
    typename: 'Deleted',
    wire: { method: 'DELETE', path },
    check: 'Query.pixels',
    look: list,
    times: ({ pixels: { nodes } }: Pixels) =>
      nodes.some(({ databaseId }) => databaseId === seeded) ? 0 : 1,
  });
});
