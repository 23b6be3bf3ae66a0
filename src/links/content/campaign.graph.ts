import { builder, databaseId, lazily, listField } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import { parseId } from '../../graph/ids/global-id.ts';
import { deletion, resultOf } from '../../graph/result.ts';
import type { Known } from '../../upstream/request.ts';
import {
  assignLinkToCampaign,
  type Campaign,
  campaigns,
  createCampaign,
  deleteCampaign,
  updateCampaign,
} from './campaign.ts';

const CampaignRef = builder.objectRef<Known<Campaign>>('Campaign');

builder.node(CampaignRef, {
  description: 'A group of short links that are counted, and can be rotated, together.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(campaigns, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.string({
      description: 'What the account calls it; null when it has no name.',
      resolve: lazily(campaigns, 'name'),
    }),
    public: t.boolean({
      description: 'Whether everybody may see its list; null when the upstream does not say.',
      resolve: lazily(campaigns, 'public'),
    }),
    rotatorUrl: t.string({
      description: 'URL that redirects to each of its links in rotation; null when it has no slug.',
      resolve: lazily(campaigns, 'rotatorUrl'),
    }),
    listUrl: t.string({
      description: 'URL of the page that lists its links; null when it has none.',
      resolve: lazily(campaigns, 'listUrl'),
    }),
  }),
});

listField('campaigns', CampaignRef, campaigns, {
  rows: 'campaigns',
  description: 'The account’s campaigns. Costs 1 upstream call for each page not cached.',
});

builder.queryField('campaign', (t) =>
  t.field({
    type: CampaignRef,
    description:
      'One campaign; null when there is none of this id. Costs nothing while the page that holds it is cached, else 1 upstream call for each page up to it.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, { links }) => links.find(campaigns, parseId('Campaign', id)),
  }),
);

const slugDescription =
  'The last part of its rotator’s URL; a campaign without one has no rotator.';

const CreateCampaignInput = builder.inputType('CreateCampaignInput', {
  description: 'A campaign to make. The upstream chooses what is left out.',
  fields: (t) => ({
    name: t.string({ description: 'What to call it.' }),
    slug: t.string({ description: slugDescription }),
    public: t.boolean({ description: 'Whether everybody may see its list.' }),
  }),
});

const UpdateCampaignInput = builder.inputType('UpdateCampaignInput', {
  description: 'What to change of a campaign. What is left out, or null, stays as it is.',
  fields: (t) => ({
    id: t.id({
      required: true,
      description: 'Which campaign: global id, or the upstream’s integer.',
    }),
    name: t.string({
      required: true,
      description: 'What to call it; the upstream always wants it.',
    }),
    slug: t.string({ description: slugDescription }),
    public: t.boolean({ description: 'Whether everybody may see its list.' }),
  }),
});

builder.mutationFields((t) => ({
  createCampaign: t.field({
    ...resultOf(CampaignRef, 'CreateCampaignResult'),
    description:
      'Makes a campaign. Costs 1 upstream call; what neither its answer nor the input holds is read when selected.',
    args: {
      input: t.arg({ type: CreateCampaignInput, required: true, description: 'What to make.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      checks.notBlank('name', input.name);
      checks.slug('slug', input.slug);
      checks.done();
      return links.write(createCampaign(input));
    },
  }),
  updateCampaign: t.field({
    ...resultOf(CampaignRef, 'UpdateCampaignResult'),
    description:
      'Changes a campaign. Costs 1 upstream call; what neither its answer nor the input holds is read when selected.',
    args: {
      input: t.arg({ type: UpdateCampaignInput, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      const id = checks.id('id', 'Campaign', input.id);
      checks.notBlank('name', input.name);
      checks.slug('slug', input.slug);
      checks.done();
      return links.write(updateCampaign(id, input));
    },
  }),
  deleteCampaign: deletion(t, 'Campaign', deleteCampaign, {
    result: 'DeleteCampaignResult',
    description: 'Removes a campaign; its links stay. Costs 1 upstream call.',
    which: 'Which campaign: global id, or the upstream’s integer.',
  }),
  assignLinkToCampaign: t.field({
    ...resultOf(CampaignRef, 'AssignLinkToCampaignResult'),
    description:
      'Adds a short link to a campaign. Costs 1 upstream call; fields selected on the campaign are read afterwards.',
    args: {
      campaignId: t.arg.id({
        required: true,
        description: 'Which campaign: global id, or the upstream’s integer.',
      }),
      linkId: t.arg.int({ required: true, description: 'The upstream’s integer id of the link.' }),
    },
    resolve: (_root, args, { links }) => {
      const checks = new InputChecks();
      const id = checks.id('campaignId', 'Campaign', args.campaignId);
      checks.positive('linkId', args.linkId);
      checks.done();
      return links.write(assignLinkToCampaign(id, args.linkId));
    },
  }),
}));
