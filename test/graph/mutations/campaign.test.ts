import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { globalIdOf, Stage } from './story.ts';

const stage = new Stage();

/** A campaign that is seeded. */
const rotating = 53;

describe('Mutation.assignLinkToCampaign', () => {
  /** A link that stands in another campaign only. */
  const link = 1041;
  const path = `/api/campaign/${rotating}/assign/${link}`;

  it.each([String(rotating), globalIdOf('Campaign', rotating)])(
    'adds a link to the campaign %s at 1 call',
    async (id) => {
      const { result, calls } = await stage.change(
        `assignLinkToCampaign(campaignId: "${id}", linkId: ${link})`,
        'Campaign { id databaseId }',
      );
      expect(result).toEqual({
        __typename: 'Campaign',
        id: globalIdOf('Campaign', rotating),
        databaseId: rotating,
      });
      expect(calls).toEqual([`POST ${path}`]);
      expect(stage.written).toEqual([{ method: 'POST', path }]);
    },
  );

  it.each([
    ['its global id', `link: "${globalIdOf('LinkItem', link)}"`],
    ['the integer of the API as an ID', `link: "${link}"`],
    ['both, which are the same', `link: "${globalIdOf('LinkItem', link)}", linkId: ${link}`],
  ])('takes a link by %s', async (_, given) => {
    await stage.change(
      `assignLinkToCampaign(campaignId: ${rotating}, ${given})`,
      'Campaign { id }',
    );
    expect(stage.written).toEqual([{ method: 'POST', path }]);
  });

  it('takes an integer variable, as it always did', async () => {
    const { errors } = await stage.world.ask(
      'mutation ($link: Int!) { assignLinkToCampaign(campaignId: 999999, linkId: $link) { __typename } }',
      { link },
    );
    expect(errors).toEqual([]);
  });

  it('reads of the campaign what is selected, with one page', async () => {
    const fields = 'databaseId name public rotatorUrl listUrl';
    const { campaign } = await stage.world.data<{ campaign: Row }>(
      `{ campaign(id: ${rotating}) { ${fields} } }`,
    );
    const { result, calls } = await stage.change(
      `assignLinkToCampaign(campaignId: ${rotating}, linkId: ${link})`,
      `Campaign { ${fields} }`,
    );
    expect(result).toEqual({ __typename: 'Campaign', ...campaign });
    expect(calls).toEqual([`POST ${path}`, 'GET /api/campaigns?limit=100&page=1']);
  });
});
