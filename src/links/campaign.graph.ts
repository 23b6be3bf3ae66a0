import { builder, connectionOf, databaseId } from '../graph/builder.ts';
import { parseId } from '../graph/identifier.ts';
import { type Campaign as CampaignRow, campaigns } from './campaign.ts';

export const Campaign = builder.objectRef<CampaignRow>('Campaign');

builder.node(Campaign, {
  description: 'A group of short links that are counted, and can be rotated, together.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(campaigns, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.exposeString('name', { description: 'What the account calls it.' }),
    public: t.exposeBoolean('public', { description: 'Whether everybody may see its list.' }),
    rotatorUrl: t.exposeString('rotatorUrl', {
      description: 'URL that leads to one of its links in turn; null when it has no slug.',
    }),
    listUrl: t.exposeString('listUrl', { description: 'URL of the page that lists its links.' }),
  }),
});

builder.queryFields((t) => ({
  campaigns: t.connection(
    {
      type: Campaign,
      nullable: true,
      description: 'The account’s campaigns. Costs 1 upstream call for each page not kept.',
      resolve: (_root, window, { links }) => links.connection(campaigns, window),
    },
    ...connectionOf('Campaign', 'campaigns'),
  ),
  campaign: t.field({
    type: Campaign,
    description:
      'One campaign; null when there is none of this id. Costs nothing while the page that holds it is kept, else 1 upstream call for each page up to it.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, { links }) => links.find(campaigns, parseId('Campaign', id)),
  }),
}));
