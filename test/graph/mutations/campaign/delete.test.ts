import { describe, expect, it } from 'vitest';
import { behavesWhenDisturbed } from '../story.ts';
import { CampaignStage, type Campaigns, globalId, list, plain } from './campaigns.ts';

const stage = new CampaignStage();

describe('Mutation.deleteCampaign', () => {
  const path = `/api/campaign/${plain}/delete`;

  it('removes the campaign from every later read, at 1 call', async () => {
    const before = await stage.campaigns();
    const { result, calls } = await stage.change(
      `deleteCampaign(id: "${globalId(plain)}")`,
      'Deleted { deletedId databaseId }',
    );
    expect(result).toEqual({
      __typename: 'Deleted',
      deletedId: globalId(plain),
      databaseId: plain,
    });
    expect(calls).toEqual([`DELETE ${path}`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path }]);
    expect(await stage.found(plain)).toEqual([null, null, null]);
    const after = await stage.campaigns();
    expect(after.totalCount).toBe(before.totalCount - 1);
    expect(after.nodes).toEqual(before.nodes.filter(({ databaseId }) => databaseId !== plain));
  });

  it('passes on that there is no such campaign', async () => {
    await stage.change(`deleteCampaign(id: ${plain})`, 'Deleted { deletedId }');
    const { result } = await stage.change(`deleteCampaign(id: ${plain})`, 'Deleted { deletedId }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Campaign does not exist' });
  });

  it('finds the fault of an id, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'deleteCampaign(id: "Black Friday")',
      'Deleted { deletedId }',
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
