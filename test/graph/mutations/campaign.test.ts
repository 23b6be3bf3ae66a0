import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { behavesWhenDisturbed, noes, Stage, yeses } from './story.ts';

const stage = new Stage();

interface Campaigns {
  readonly campaigns: { readonly nodes: readonly Row[]; readonly totalCount: number };
}

const fields = 'id databaseId name public rotatorUrl listUrl';
const list = `{ campaigns(first: 500) { totalCount nodes { ${fields} } } }`;

async function campaigns(): Promise<Campaigns['campaigns']> {
  return (await stage.world.data<Campaigns>(list)).campaigns;
}

const globalId = (id: number) => Buffer.from(`Campaign:${id}`).toString('base64url');

/** A campaign by each of the three ways to one. */
async function found(id: number): Promise<unknown[]> {
  const data = await stage.world.data(
    `query ($id: ID!, $text: ID!) {
      node(id: $id) { ... on Campaign { ${fields} } }
      campaign(id: $id) { ${fields} }
      same: campaign(id: $text) { ${fields} }
    }`,
    { id: globalId(id), text: String(id) },
  );
  return [data['node'], data['campaign'], data['same']];
}

/** One that is seeded with a rotator and open to all, and one without a rotator. */
const [rotating, plain] = [53, 49];

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
    const before = await campaigns();
    // The sandbox seeds the same ids each time.
    const next = 57;
    expect(await found(next)).toEqual([null, null, null]);
    const { result } = await stage.change(mutation, `Campaign { ${fields} }`);
    const { __typename, ...row } = result;
    expect(row['databaseId']).toBe(next);
    expect(await found(next)).toEqual([row, row, row]);
    const after = await campaigns();
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
      message: 'The input has 2 faults.',
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

describe('Mutation.updateCampaign', () => {
  const path = `/api/campaign/${rotating}/update`;

  it('changes a campaign by either kind of id, and answers all of it from the one call', async () => {
    for (const id of [String(rotating), globalId(rotating)]) {
      const { result, calls } = await stage.change(
        `updateCampaign(input: { id: "${id}", name: "New name", slug: "new", public: false })`,
        `Campaign { ${fields} }`,
      );
      expect(calls).toEqual([`PUT ${path}`]);
      expect(stage.written).toEqual([
        { method: 'PUT', path, body: { name: 'New name', slug: 'new', public: false } },
      ]);
      expect(result).toEqual({
        __typename: 'Campaign',
        id: globalId(rotating),
        databaseId: rotating,
        name: 'New name',
        public: false,
        rotatorUrl: `${stage.sandbox.links.url}/r/new`,
        listUrl: `${stage.sandbox.links.url}/campaign/${rotating}`,
      });
    }
  });

  it('leaves alone what was not given', async () => {
    const before = (await found(plain))[0] as Row;
    const { result } = await stage.change(
      `updateCampaign(input: { id: ${plain}, name: "New name", slug: null })`,
      `Campaign { ${fields} }`,
    );
    expect(stage.written).toMatchObject([{ body: { name: 'New name' } }]);
    expect(result).toEqual({ __typename: 'Campaign', ...before, name: 'New name' });
  });

  it('shows in every later read', async () => {
    const before = await campaigns();
    const [row] = (await found(rotating)) as Row[];
    await stage.change(
      `updateCampaign(input: { id: ${rotating}, name: "New name" })`,
      'Campaign { id }',
    );
    const changed = { ...row, name: 'New name' };
    expect(await found(rotating)).toEqual([changed, changed, changed]);
    expect((await campaigns()).nodes).toEqual(
      before.nodes.map((each) => (each['databaseId'] === rotating ? changed : each)),
    );
  });

  it('passes on that there is no such campaign', async () => {
    const { result } = await stage.change(
      'updateCampaign(input: { id: 999999, name: "x" })',
      'Campaign { id }',
    );
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Campaign does not exist' });
  });

  it('finds every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      `updateCampaign(input: { id: "0", name: "", slug: "?" })`,
      'Campaign { id }',
    );
    expect(result.issues?.map((issue) => issue.path)).toEqual([
      ['input', 'id'],
      ['input', 'name'],
      ['input', 'slug'],
    ]);
    expect(calls).toEqual([]);
  });

  it('takes a bare message for success, and believes the input', async () => {
    stage.answer(path, { error: '0', message: 'Campaign updated.' });
    const { result, calls } = await stage.change(
      `updateCampaign(input: { id: ${rotating}, name: "New name", public: false })`,
      'Campaign { databaseId name public }',
    );
    expect(result).toMatchObject({ databaseId: rotating, name: 'New name', public: false });
    expect(calls).toHaveLength(1);
  });

  behavesWhenDisturbed(stage, {
    mutation: `updateCampaign(input: { id: ${rotating}, name: "New name" })`,
    typename: 'Campaign',
    wire: { method: 'PUT', path, body: { name: 'New name' } },
    check: 'Query.campaigns',
    look: list,
    times: ({ campaigns: { nodes } }: Campaigns) =>
      nodes.filter(({ name }) => name === 'New name').length,
  });
});

describe('Mutation.deleteCampaign', () => {
  const path = `/api/campaign/${plain}/delete`;

  it('removes the campaign from every later read, at 1 call', async () => {
    const before = await campaigns();
    const { result, calls } = await stage.change(
      `deleteCampaign(id: "${globalId(plain)}")`,
      'Deleted { id databaseId }',
    );
    expect(result).toEqual({ __typename: 'Deleted', id: globalId(plain), databaseId: plain });
    expect(calls).toEqual([`DELETE ${path}`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path }]);
    expect(await found(plain)).toEqual([null, null, null]);
    const after = await campaigns();
    expect(after.totalCount).toBe(before.totalCount - 1);
    expect(after.nodes).toEqual(before.nodes.filter(({ databaseId }) => databaseId !== plain));
  });

  it('passes on that there is no such campaign', async () => {
    await stage.change(`deleteCampaign(id: ${plain})`, 'Deleted { id }');
    const { result } = await stage.change(`deleteCampaign(id: ${plain})`, 'Deleted { id }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Campaign does not exist' });
  });

  it('finds the fault of an id, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'deleteCampaign(id: "Black Friday")',
      'Deleted { id }',
    );
    expect(result.issues).toEqual([{ path: ['id'], message: expect.any(String) }]);
    expect(calls).toEqual([]);
  });

  behavesWhenDisturbed(stage, {
    mutation: `deleteCampaign(id: ${plain})`,
    typename: 'Deleted',
    wire: { method: 'DELETE', path },
    check: 'Query.campaigns',
    look: list,
    times: ({ campaigns: { nodes } }: Campaigns) =>
      nodes.some(({ databaseId }) => databaseId === plain) ? 0 : 1,
  });
});

describe('Mutation.assignLinkToCampaign', () => {
  /** A link that stands in another campaign only. */
  const link = 1041;
  const path = `/api/campaign/${rotating}/assign/${link}`;

  /** How often the campaign's own page names the link: no read of the API does. */
  async function onPage(): Promise<number> {
    const { data } = await stage.world.links<{ data: { items: readonly Row[] } }>(
      '/api/channel/21',
    );
    const alias = String(data.items.find(({ id }) => id === link)?.['link'])
      .split('/')
      .at(-1);
    const page = await fetch(`${stage.sandbox.links.url}/campaign/${rotating}`);
    return (await page.text()).split(`/l/${alias}"`).length - 1;
  }

  it.each([String(rotating), globalId(rotating)])(
    'adds a link to the campaign %s at 1 call',
    async (id) => {
      expect(await onPage()).toBe(0);
      const { result, calls } = await stage.change(
        `assignLinkToCampaign(campaignId: "${id}", linkId: ${link})`,
        'Campaign { id databaseId }',
      );
      expect(result).toEqual({
        __typename: 'Campaign',
        id: globalId(rotating),
        databaseId: rotating,
      });
      expect(calls).toEqual([`POST ${path}`]);
      expect(stage.written).toEqual([{ method: 'POST', path }]);
      expect(await onPage()).toBe(1);
    },
  );

  it('reads of the campaign what is selected, with one page', async () => {
    const [row] = (await found(rotating)) as Row[];
    const { result, calls } = await stage.change(
      `assignLinkToCampaign(campaignId: ${rotating}, linkId: ${link})`,
      `Campaign { ${fields} }`,
    );
    expect(result).toEqual({ __typename: 'Campaign', ...row });
    expect(calls).toEqual([`POST ${path}`, 'GET /api/campaigns?limit=100&page=1']);
  });

  it.each([
    [999_999, link, 'Campaign does not exist'],
    [rotating, 999_999, 'Link does not exist'],
  ])('passes on why %i takes no %i', async (campaign, id, message) => {
    const { result } = await stage.change(
      `assignLinkToCampaign(campaignId: ${campaign}, linkId: ${id})`,
      'Campaign { id }',
    );
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  it('finds every fault of its arguments, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'assignLinkToCampaign(campaignId: "0", linkId: -1)',
      'Campaign { id }',
    );
    expect(result.issues?.map((issue) => issue.path)).toEqual([['campaignId'], ['linkId']]);
    expect(calls).toEqual([]);
  });

  behavesWhenDisturbed(stage, {
    mutation: `assignLinkToCampaign(campaignId: ${rotating}, linkId: ${link})`,
    typename: 'Campaign',
    wire: { method: 'POST', path },
    check: 'the campaign',
    look: list,
    times: onPage,
  });
});
