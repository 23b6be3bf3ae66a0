import { builder, databaseId } from '../../graph/builder.ts';
import { changeField, deletion, expectedOf, updateField } from '../../graph/change.ts';
import { InputChecks } from '../../graph/checks.ts';
import { lazily, shownLazily } from '../../graph/fields.ts';
import { flagFilter } from '../../graph/lists/filters.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byNumber, byText } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import { resultOf } from '../../graph/result.ts';
import { andThen } from '../../scheduling/at-once.ts';
import type { Known } from '../../upstream/request.ts';
import { slugOf } from '../slug.ts';
import {
  assignLinkToCampaign,
  type Campaign,
  campaigns,
  createCampaign,
  deleteCampaign,
  updateCampaign,
} from './campaign.ts';

const rotatorUrlOf = lazily(campaigns, 'rotatorUrl');

/** The type of `Query.campaigns`. */
export const CampaignRef = builder.objectRef<Known<Campaign>>('Campaign');

builder.node(CampaignRef, {
  description: 'A group of short links with common statistics and an optional rotator.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(campaigns, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shownLazily(t, campaigns, 'String', { name: 'Name of the campaign; null if it has none.' }),
    ...shownLazily(t, campaigns, 'Boolean', {
      public: 'Whether the list of its links is public; null if the API does not provide it.',
    }),
    rotatorUrl: t.string({
      description:
        'URL that redirects to each link of the campaign in rotation; null if the campaign has no slug.',
      resolve: rotatorUrlOf,
    }),
    slug: t.string({
      description:
        'Last part of `rotatorUrl`, from which it is derived; null if the campaign has no rotator. Costs what `rotatorUrl` costs.',
      resolve: (row, args, context) => andThen(rotatorUrlOf(row, args, context), slugOf),
    }),
    ...shownLazily(t, campaigns, 'String', {
      listUrl: 'URL of the page that lists the links of the campaign; null if there is none.',
    }),
  }),
});

listField('campaigns', CampaignRef, campaigns, {
  rows: 'campaigns',
  description: 'The account’s campaigns. Costs 1 upstream request per page if not cached.',
  search: { in: 'name or rotator URL', texts: ({ name, rotatorUrl }) => [name, rotatorUrl] },
  order: {
    NAME: byText('name', 'Name of the campaign.'),
    PUBLIC: byNumber('public', 'Whether its list of links is public: false before true.'),
    ID: byId,
  },
  filters: [
    flagFilter(
      'public',
      (row) => row.public,
      'Only campaigns whose list of links is public (true), or is not (false).',
    ),
    flagFilter(
      'hasRotator',
      ({ rotatorUrl }) => rotatorUrl !== null,
      'Only campaigns with a rotator URL (true), or without one (false).',
    ),
  ],
});

lookupField('campaign', CampaignRef, campaigns, { what: 'A campaign', whose: 'The campaign’s' });

const slugDescription = 'Last part of the rotator’s URL. A campaign without a slug has no rotator.';

const CreateCampaignInput = builder.inputType('CreateCampaignInput', {
  description: 'The campaign to create. The API sets default values for omitted members.',
  fields: (t) => ({
    name: t.string({ description: 'Display name of the campaign.' }),
    slug: t.string({ description: slugDescription }),
    public: t.boolean({ description: 'Whether the list of its links is public.' }),
  }),
});

const UpdateCampaignInput = builder.inputType('UpdateCampaignInput', {
  description: 'Changes to a campaign. Omitted or null members stay unchanged.',
  fields: (t) => ({
    id: t.id({
      required: true,
      description: 'The campaign’s `id` or `databaseId`.',
    }),
    name: t.string({
      required: true,
      description: 'Name of the campaign. The API always requires it.',
    }),
    slug: t.string({ description: slugDescription }),
    public: t.boolean({ description: 'Whether the list of its links is public.' }),
  }),
});

const expectedCampaign = expectedOf<Campaign>('Campaign', 'a campaign', {
  name: {
    type: 'String',
    description: 'Display name of the campaign.',
    of: ({ name }) => name,
  },
  public: {
    type: 'Boolean',
    description: 'Whether the list of its links is public.',
    of: (row) => row.public,
  },
  slug: {
    type: 'String',
    description: 'Last part of the rotator’s URL.',
    of: ({ rotatorUrl }) => slugOf(rotatorUrl),
  },
});

builder.mutationFields((t) => ({
  createCampaign: changeField(t, CampaignRef, {
    result: 'CreateCampaignResult',
    description:
      'Creates a campaign. Costs 1 upstream request, plus a read of the campaign for selected fields that neither the response nor the input contains.',
    input: [CreateCampaignInput, 'Values of the new campaign.'],
    check(checks, input) {
      checks.notBlank('name', input.name);
      checks.slug('slug', input.slug);
    },
    send: (input, { links }) => links.write(createCampaign(input)),
  }),
  updateCampaign: updateField(t, CampaignRef, campaigns, {
    result: 'UpdateCampaignResult',
    description:
      'Changes a campaign. Costs 1 upstream request, plus a read of the campaign for selected fields that neither the response nor the input contains.',
    input: [UpdateCampaignInput, 'The changes.'],
    expected: expectedCampaign,
    check(checks, input) {
      checks.notBlank('name', input.name);
      checks.slug('slug', input.slug);
    },
    write: updateCampaign,
  }),
  deleteCampaign: deletion(t, 'Campaign', deleteCampaign, {
    result: 'DeleteCampaignResult',
    description: 'Deletes a campaign; its links are kept. Costs 1 upstream request.',
    which: 'The campaign’s `id` or `databaseId`.',
  }),
  assignLinkToCampaign: t.field({
    ...resultOf(CampaignRef, 'AssignLinkToCampaignResult'),
    description:
      'Adds a short link to a campaign. The API cannot remove it again. Costs 1 upstream request, plus a read of the campaign if its fields are selected.',
    args: {
      campaignId: t.arg.id({
        required: true,
        description: 'The campaign’s `id` or `databaseId`.',
      }),
      link: t.arg.id({
        description:
          'The link: the `id` or `databaseId` of a channel item that is a link. Required unless `linkId` is set. An ID of another type costs no upstream request.',
      }),
      linkId: t.arg.int({
        description: 'The link’s integer ID in the upstream API. Required unless `link` is set.',
      }),
    },
    resolve: (_root, args, { links }) => {
      const checks = new InputChecks();
      const id = checks.id('campaignId', 'Campaign', args.campaignId);
      const link = checks.eitherId(['link', 'linkId'], ['LinkItem'], args);
      checks.done();
      return links.write(assignLinkToCampaign(id, link.id));
    },
  }),
}));
