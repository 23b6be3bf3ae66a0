import { describe, expect, it } from 'vitest';
import type { Row } from '../../../support/gateway.ts';
import { behavesWhenDisturbed } from '../story.ts';
import {
  CampaignStage,
  type Campaigns,
  fields,
  globalId,
  list,
  plain,
  rotating,
} from './campaigns.ts';

const stage = new CampaignStage();

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
    const before = (await stage.found(plain))[0] as Row;
    const { result } = await stage.change(
      `updateCampaign(input: { id: ${plain}, name: "New name", slug: null })`,
      `Campaign { ${fields} }`,
    );
    expect(stage.written).toMatchObject([{ body: { name: 'New name' } }]);
    expect(result).toEqual({ __typename: 'Campaign', ...before, name: 'New name' });
  });

  it('shows in every later read', async () => {
    const before = await stage.campaigns();
    const [row] = (await stage.found(rotating)) as Row[];
    await stage.change(
      `updateCampaign(input: { id: ${rotating}, name: "New name" })`,
      'Campaign { id }',
    );
    const changed = { ...row, name: 'New name' };
    expect(await stage.found(rotating)).toEqual([changed, changed, changed]);
    expect((await stage.campaigns()).nodes).toEqual(
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
