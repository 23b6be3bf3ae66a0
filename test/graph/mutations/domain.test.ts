import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { everyRow } from '../rest.ts';
import { behavesWhenDisturbed, noes, Stage, yeses } from './story.ts';

const stage = new Stage();

interface Domains {
  readonly domains: { readonly nodes: readonly Row[]; readonly totalCount: number };
}

const list =
  '{ domains(first: 500) { totalCount nodes { id databaseId domain redirectRoot redirect404 } } }';

async function domains(): Promise<Domains['domains']> {
  return (await stage.world.data<Domains>(list)).domains;
}

async function node(id: unknown): Promise<unknown> {
  const query = 'query ($id: ID!) { node(id: $id) { ... on BrandedDomain { domain } } }';
  return (await stage.world.data(query, { id }))['node'];
}

/** A domain of the account as the API has it, and as a caller may name it. */
async function someDomain(): Promise<{ row: Row; id: number; globalId: string }> {
  const row = (await everyRow(stage.world, '/api/domains', 'domains'))[2] ?? {};
  const globalId = Buffer.from(`BrandedDomain:${String(row['id'])}`).toString('base64url');
  return { row, id: Number(row['id']), globalId };
}

describe('Mutation.createDomain', () => {
  const path = '/api/domain/add';
  const mutation = 'createDomain(input: { domain: "https://go.example.org" })';

  it('adds a domain, and answers what was given without a further call', async () => {
    const { result, calls } = await stage.change(
      `createDomain(input: {
        domain: "https://go.example.org", redirectRoot: "https://example.org",
        redirect404: "http://example.org/lost?from=go#top" })`,
      'BrandedDomain { databaseId domain redirectRoot redirect404 }',
    );
    expect(calls).toEqual([`POST ${path}`]);
    expect(stage.written).toEqual([
      {
        method: 'POST',
        path,
        body: {
          domain: 'https://go.example.org',
          redirectroot: 'https://example.org',
          redirect404: 'http://example.org/lost?from=go#top',
        },
      },
    ]);
    expect(result).toEqual({
      __typename: 'BrandedDomain',
      databaseId: expect.any(Number),
      domain: 'https://go.example.org',
      redirectRoot: 'https://example.org',
      redirect404: 'http://example.org/lost?from=go#top',
    });
  });

  it('sends only what was given, and reads the rest with one page', async () => {
    const { result, calls } = await stage.change(
      'createDomain(input: { domain: "https://go.example.org", redirect404: null })',
      'BrandedDomain { redirectRoot redirect404 }',
    );
    expect(calls).toEqual([`POST ${path}`, 'GET /api/domains?limit=100&page=1']);
    expect(stage.written).toEqual([
      { method: 'POST', path, body: { domain: 'https://go.example.org' } },
    ]);
    expect(result).toEqual({ __typename: 'BrandedDomain', redirectRoot: '', redirect404: '' });
  });

  it('takes the slash that a browser shows behind a domain for none of it', async () => {
    const { result } = await stage.change(
      'createDomain(input: { domain: "http://go.example.org:8080/" })',
      'BrandedDomain { domain }',
    );
    const domain = 'http://go.example.org:8080';
    expect(result).toMatchObject({ domain });
    expect(stage.written).toMatchObject([{ body: { domain } }]);
    expect((await domains()).nodes).toContainEqual(expect.objectContaining({ domain }));
  });

  it('shows in the list and as a node, also where the list was kept', async () => {
    const before = await domains();
    const { result } = await stage.change(mutation, 'BrandedDomain { id databaseId }');
    const after = await domains();
    expect(after.totalCount).toBe(before.totalCount + 1);
    expect(after.nodes).toContainEqual({
      id: result['id'],
      databaseId: result['databaseId'],
      domain: 'https://go.example.org',
      redirectRoot: '',
      redirect404: '',
    });
    expect(await node(result['id'])).toEqual({ domain: 'https://go.example.org' });
  });

  it('is found as a node that had been missing before', async () => {
    const newest = Math.max(...(await domains()).nodes.map((row) => Number(row['databaseId'])));
    const missing = Buffer.from(`BrandedDomain:${newest + 1}`).toString('base64url');
    expect(await node(missing)).toBeNull();
    const { result } = await stage.change(mutation, 'BrandedDomain { id }');
    expect(result['id']).toBe(missing);
    expect(await node(missing)).toEqual({ domain: 'https://go.example.org' });
  });

  it('passes on why the upstream refuses', async () => {
    const { result, calls } = await stage.change(
      'createDomain(input: { domain: "https://go.example.test" })',
      'BrandedDomain { domain }',
    );
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'The domain does not point to our server yet',
      upstream: 'LINKS',
    });
    expect(calls).toHaveLength(1);
  });

  it.each([
    'go.example.org',
    'ftp://go.example.org',
    'https:go.example.org',
    'https://',
    'https:///go.example.org',
    'https://go.example.org/shop',
    'https://go.example.org?a=b',
    'https://go.example.org#top',
    'https://ann@go.example.org',
    ' https://go.example.org',
    'https://go example.org',
    'https://go.example.org\\\\shop',
    '',
  ])('finds the fault of the domain "%s", and spends no call', async (domain) => {
    const { result, calls } = await stage.change(
      `createDomain(input: { domain: "${domain}" })`,
      'BrandedDomain { domain }',
    );
    expect(result).toMatchObject({ __typename: 'InvalidInput' });
    expect(result.issues?.map((issue) => issue.path)).toEqual([['input', 'domain']]);
    expect(calls).toEqual([]);
  });

  it('finds every fault at once', async () => {
    const { result, calls } = await stage.change(
      'createDomain(input: { domain: "x", redirectRoot: "", redirect404: "javascript:alert(1)" })',
      'BrandedDomain { domain }',
    );
    expect(result.message).toBe('The input has 3 validation errors.');
    expect(result.issues).toEqual([
      { path: ['input', 'domain'], message: expect.stringContaining('http or https') },
      { path: ['input', 'redirectRoot'], message: expect.stringContaining('http or https') },
      { path: ['input', 'redirect404'], message: expect.stringContaining('http or https') },
    ]);
    expect(calls).toEqual([]);
  });

  it.each(yeses({ id: 7 }))('understands success %s', async (_, body, status) => {
    stage.answer(path, body, status);
    const { result, calls } = await stage.change(mutation, 'BrandedDomain { databaseId domain }');
    expect(result).toEqual({
      __typename: 'BrandedDomain',
      databaseId: 7,
      domain: 'https://go.example.org',
    });
    expect(calls).toHaveLength(1);
  });

  it.each(noes)('understands a refusal with `error` %s', async (_, body, status, message) => {
    stage.answer(path, body, status);
    const { result } = await stage.change(mutation, 'BrandedDomain { domain }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  it.each([[{ error: 0 }], [{ error: 0, id: 'new' }], [{ error: 0, id: null, message: 'Done.' }]])(
    'knows no outcome of %j, which says yes and not to what',
    async (body) => {
      await domains();
      stage.answer(path, body);
      const { errors } = await stage.change(mutation, 'BrandedDomain { domain }');
      expect(errors[0]?.extensions).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        check: 'Query.domains',
      });
      expect((await domains()).nodes).toContainEqual(
        expect.objectContaining({ domain: 'https://go.example.org' }),
      );
    },
  );

  behavesWhenDisturbed(stage, {
    mutation,
    typename: 'BrandedDomain',
    wire: { method: 'POST', path, body: { domain: 'https://go.example.org' } },
    check: 'Query.domains',
    look: list,
    times: ({ domains: { nodes } }: Domains) =>
      nodes.filter(({ domain }) => domain === 'https://go.example.org').length,
  });
});

describe('Mutation.updateDomain', () => {
  it('changes one redirect by either kind of id, and answers it without a further call', async () => {
    const { id, globalId } = await someDomain();
    for (const [name, redirect] of [
      [globalId, 'https://example.org/one'],
      [String(id), 'https://example.org/two'],
    ]) {
      const { result, calls } = await stage.change(
        `updateDomain(input: { id: "${name}", redirect404: "${redirect}" })`,
        'BrandedDomain { id databaseId redirect404 }',
      );
      expect(result).toEqual({
        __typename: 'BrandedDomain',
        id: globalId,
        databaseId: id,
        redirect404: redirect,
      });
      expect(calls).toEqual([`PUT /api/domain/${id}/update`]);
      expect(stage.written).toEqual([
        { method: 'PUT', path: `/api/domain/${id}/update`, body: { redirect404: redirect } },
      ]);
    }
  });

  it('reads the other redirect and the domain with one page', async () => {
    const { row, id } = await someDomain();
    await domains();
    const { result, calls } = await stage.change(
      `updateDomain(input: { id: ${id}, redirect404: "https://example.org" })`,
      'BrandedDomain { domain redirectRoot redirect404 }',
    );
    expect(result).toEqual({
      __typename: 'BrandedDomain',
      domain: row['domain'],
      redirectRoot: row['redirectroot'],
      redirect404: 'https://example.org',
    });
    expect(calls).toEqual([`PUT /api/domain/${id}/update`, 'GET /api/domains?limit=100&page=1']);
  });

  it('asks with an empty text to take a redirect away', async () => {
    const { id } = await someDomain();
    await stage.change(
      `updateDomain(input: { id: ${id}, redirectRoot: "" })`,
      'BrandedDomain { id }',
    );
    expect(stage.written).toMatchObject([{ body: { redirectroot: '' } }]);
    const { nodes } = await domains();
    expect(nodes.find(({ databaseId }) => databaseId === id)).toMatchObject({ redirectRoot: '' });
  });

  it('shows in every later read', async () => {
    const { id } = await someDomain();
    const before = await domains();
    const redirect = 'https://example.org/?a=1&b=2';
    await stage.change(
      `updateDomain(input: { id: ${id}, redirectRoot: "${redirect}", redirect404: "${redirect}" })`,
      'BrandedDomain { id }',
    );
    expect((await domains()).nodes).toEqual(
      before.nodes.map((row) =>
        row['databaseId'] === id ? { ...row, redirectRoot: redirect, redirect404: redirect } : row,
      ),
    );
  });

  it('passes on that there is no such domain', async () => {
    const { result, calls } = await stage.change(
      'updateDomain(input: { id: 999999, redirectRoot: "https://example.org" })',
      'BrandedDomain { id }',
    );
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Domain does not exist' });
    expect(calls).toHaveLength(1);
  });

  it.each([
    ['{ id: 5 }', [['input']]],
    ['{ id: 5, redirectRoot: null, redirect404: null }', [['input']]],
    ['{ id: 0, redirectRoot: "https://example.org" }', [['input', 'id']]],
    ['{ id: "UGl4ZWw6Nw", redirect404: "https://example.org" }', [['input', 'id']]],
    [
      '{ id: "x", redirectRoot: "example.org", redirect404: "https://" }',
      [
        ['input', 'id'],
        ['input', 'redirectRoot'],
        ['input', 'redirect404'],
      ],
    ],
    ['{ id: "-5" }', [['input'], ['input', 'id']]],
  ])('finds every fault of %s, and spends no call', async (input, paths) => {
    const { result, calls } = await stage.change(
      `updateDomain(input: ${input})`,
      'BrandedDomain { id }',
    );
    expect(result).toMatchObject({ __typename: 'InvalidInput' });
    expect(result.issues?.map((issue) => issue.path)).toEqual(paths);
    expect(calls).toEqual([]);
  });

  it.each(yeses({ message: 'Updated.' }))('understands success %s', async (_, body, status) => {
    const { id } = await someDomain();
    stage.answer(`/api/domain/${id}/update`, body, status);
    const { result } = await stage.change(
      `updateDomain(input: { id: ${id}, redirectRoot: "https://example.org" })`,
      'BrandedDomain { databaseId redirectRoot }',
    );
    expect(result).toMatchObject({ databaseId: id, redirectRoot: 'https://example.org' });
  });

  behavesWhenDisturbed(stage, {
    mutation: 'updateDomain(input: { id: 10, redirectRoot: "https://example.org/new" })',
    typename: 'BrandedDomain',
    wire: {
      method: 'PUT',
      path: '/api/domain/10/update',
      body: { redirectroot: 'https://example.org/new' },
    },
    check: 'Query.domains',
    look: list,
    times: ({ domains: { nodes } }: Domains) =>
      nodes.filter(({ redirectRoot }) => redirectRoot === 'https://example.org/new').length,
  });
});

describe('Mutation.deleteDomain', () => {
  it('removes the domain from every later read, at 1 call', async () => {
    const { id, globalId } = await someDomain();
    const before = await domains();
    expect(await node(globalId)).not.toBeNull();
    const { result, calls } = await stage.change(
      `deleteDomain(id: "${globalId}")`,
      'Deleted { deletedId databaseId }',
    );
    expect(result).toEqual({
      __typename: 'Deleted',
      deletedId: globalId,
      databaseId: id,
    });
    expect(calls).toEqual([`DELETE /api/domain/${id}/delete`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path: `/api/domain/${id}/delete` }]);
    const after = await domains();
    expect(after.totalCount).toBe(before.totalCount - 1);
    expect(after.nodes).toEqual(before.nodes.filter(({ databaseId }) => databaseId !== id));
    expect(await node(globalId)).toBeNull();
  });

  it('passes on that there is no such domain, and shows no kept copy of it any more', async () => {
    const { id, globalId } = await someDomain();
    await domains();
    // Somebody else removes it meanwhile.
    await fetch(`${stage.sandbox.links.url}/api/domain/${id}/delete`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${stage.sandbox.links.key}` },
    });
    expect(await node(globalId)).not.toBeNull();
    const { result } = await stage.change(`deleteDomain(id: ${id})`, 'Deleted { deletedId }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Domain does not exist' });
    expect(await node(globalId)).toBeNull();
  });

  it.each(['0', '-1', '1.5', 'x', '', 'UGl4ZWw6Nw'])(
    'finds the fault of the id "%s", and spends no call',
    async (id) => {
      const { result, calls } = await stage.change(
        `deleteDomain(id: "${id}")`,
        'Deleted { deletedId }',
      );
      expect(result.issues).toEqual([{ path: ['id'], message: expect.any(String) }]);
      expect(calls).toEqual([]);
    },
  );

  it.each(noes)('understands a refusal with `error` %s', async (_, body, status, message) => {
    stage.answer('/api/domain/10/delete', body, status);
    const { result } = await stage.change('deleteDomain(id: 10)', 'Deleted { deletedId }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  behavesWhenDisturbed(stage, {
    mutation: 'deleteDomain(id: 10)',
    typename: 'Deleted',
    wire: { method: 'DELETE', path: '/api/domain/10/delete' },
    check: 'Query.domains',
    look: list,
    times: ({ domains: { nodes } }: Domains) =>
      nodes.some(({ databaseId }) => databaseId === 10) ? 0 : 1,
  });
});
