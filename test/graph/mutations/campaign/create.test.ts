import { describe, expect, it } from 'vitest';
import { behavesWhenDisturbed, noes, yeses } from '../story.ts';
import { CampaignStage, type Campaigns, fields, globalId, list } from './campaigns.ts';

const stage = new CampaignStage();

describe('Mutation.createCampaign', () => {
  const path = '/api/campaign/add';
  const mutation = 'createCampaign(input: { name: "Tea & scones" })';

  it('makes a campaign, and answers all of it from the one call', async () => {
    const { result, calls } = await stage.change(
      'createCampaign(input: { name: "Tea & scones", slug: "tea", public: true })',
      `Campaign { ${fields} }`,
    );
    expect(calls).toEqual([`POST ${path}`]);
    expect(stage.written).toEqual([
      { method: 'POST', path, body: { name: 'Tea & scones', slug: 'tea', public: true } },
    ]);
    const id = Number(result['databaseId']);
    expect(result).toEqual({
      __typename: 'Campaign',
      id: globalId(id),
      databaseId: id,
      name: 'Tea & scones',
      public: true,
      rotatorUrl: `${stage.sandbox.links.url}/r/tea`,
      listUrl: `${stage.sandbox.links.url}/campaign/${id}`,
    });
  });

  it.each([
    ['{}', {}],
    ['{ name: null, slug: null, public: null }', {}],
    ['{ public: false }', { public: false }],
  ])(
    'sends of %s only what was given, and believes the upstream in the rest',
    async (input, body) => {
      const { result, calls } = await stage.change(
        `createCampaign(input: ${input})`,
        'Campaign { name public rotatorUrl }',
      );
      expect(stage.written).toEqual([{ method: 'POST', path, body }]);
      expect(calls).toHaveLength(1);
      expect(result).toEqual({
        __typename: 'Campaign',
        name: expect.stringMatching(/^Campaign \d+$/),
        public: false,
        rotatorUrl: null,
      });
    },
  );

  it('shows in every later read, also where the list was kept or the campaign known to be missing', async () => {
    const before = await stage.campaigns();
    // The sandbox seeds the same ids each time.
    const next = 57;
    expect(await stage.found(next)).toEqual([null, null, null]);
    const { result } = await stage.change(mutation, `Campaign { ${fields} }`);
    const { __typename, ...row } = result;
    expect(row['databaseId']).toBe(next);
    expect(await stage.found(next)).toEqual([row, row, row]);
    const after = await stage.campaigns();
    expect(after.totalCount).toBe(before.totalCount + 1);
    expect(after.nodes).toContainEqual(row);
  });

  it('passes on why the upstream refuses', async () => {
    await stage.change('createCampaign(input: { slug: "taken" })', 'Campaign { id }');
    const { result, calls } = await stage.change(
      'createCampaign(input: { slug: "taken" })',
      'Campaign { id }',
    );
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'The slug is already taken',
      upstream: 'LINKS',
    });
    expect(calls).toHaveLength(1);
  });

  it('finds every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'createCampaign(input: { name: " ", slug: "a b/c" })',
      'Campaign { id }',
    );
    expect(result).toEqual({
      __typename: 'InvalidInput',
      message: 'The input has 2 validation errors.',
      issues: [
        { path: ['input', 'name'], message: 'must not be blank.' },
        { path: ['input', 'slug'], message: expect.any(String) },
      ],
    });
    expect(calls).toEqual([]);
  });

  const told = {
    id: 7,
    domain: 'Tea &amp; scones',
    public: true,
    rotator: 'https://x.example/r/t',
  };
  it.each([
    ...yeses({ ...told, list: 'https://x.example/c/7' }),
    [
      'with the name under `name`',
      { error: 0, ...told, domain: undefined, name: 'Tea & scones', list: 'https://x.example/c/7' },
      200,
    ],
    [
      'with the name under `campaign`',
      {
        error: 0,
        ...told,
        domain: undefined,
        campaign: 'Tea & scones',
        list: 'https://x.example/c/7',
      },
      200,
    ],
  ] as ReturnType<typeof yeses>)('understands success %s', async (_, body, status) => {
    stage.answer(path, body, status);
    const { result, calls } = await stage.change(
      mutation,
      'Campaign { databaseId name public rotatorUrl listUrl }',
    );
    expect(result).toEqual({
      __typename: 'Campaign',
      databaseId: 7,
      name: 'Tea & scones',
      public: true,
      rotatorUrl: 'https://x.example/r/t',
      listUrl: 'https://x.example/c/7',
    });
    expect(calls).toHaveLength(1);
  });

  it('takes what the answer leaves out from the input, and reads the rest with one page', async () => {
    stage.answer(path, { error: 0, id: '53' });
    const { result, calls } = await stage.change(
      'createCampaign(input: { name: "Tea", public: true })',
      'Campaign { name public rotatorUrl listUrl }',
    );
    expect(result).toMatchObject({ name: 'Tea', public: true });
    expect(result).toMatchObject({ rotatorUrl: expect.any(String), listUrl: expect.any(String) });
    expect(calls).toEqual([`POST ${path}`, 'GET /api/campaigns?limit=100&page=1']);
  });

  it.each(noes)('understands a refusal with `error` %s', async (_, body, status, message) => {
    stage.answer(path, body, status);
    const { result } = await stage.change(mutation, 'Campaign { id }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  behavesWhenDisturbed(stage, {
    mutation,
    typename: 'Campaign',
    wire: { method: 'POST', path, body: { name: 'Tea & scones' } },
    check: 'Query.campaigns',
    look: list,
    times: ({ campaigns: { nodes } }: Campaigns) =>
      nodes.filter(({ name }) => name === 'Tea & scones').length,
  });
});
