import { describe, expect, it } from 'vitest';
import type { Row } from '../../../support/gateway.ts';
import { behavesWhenDisturbed } from '../story.ts';
import { CampaignStage, fields, globalId, list, rotating } from './campaigns.ts';

const stage = new CampaignStage();
const idOf = (type: string, id: number) => Buffer.from(`${type}:${id}`).toString('base64url');

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

  it.each([
    ['its global id', `link: "${idOf('LinkItem', link)}"`],
    ['the integer of the API as an ID', `link: "${link}"`],
    ['both, which are the same', `link: "${idOf('LinkItem', link)}", linkId: ${link}`],
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

  it.each([
    ['no link', '', [], 'must have at least one of `link`, `linkId`.'],
    ['a QR code', `link: "${idOf('QrItem', link)}"`, ['link'], 'needs the ID of a LinkItem'],
    ['two links', `link: "${link}", linkId: 7`, ['link'], 'is another ID than `linkId`'],
    ['garbage', 'link: "zzz"', ['link'], 'is not an ID'],
  ])('refuses %s, and spends no call', async (_, given, at, message) => {
    const { result, calls } = await stage.change(
      `assignLinkToCampaign(campaignId: ${rotating}, ${given})`,
      'Campaign { id }',
    );
    expect(result.issues).toEqual([{ path: at, message: expect.stringContaining(message) }]);
    expect(calls).toEqual([]);
  });

  it('reads of the campaign what is selected, with one page', async () => {
    const [row] = (await stage.found(rotating)) as Row[];
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
