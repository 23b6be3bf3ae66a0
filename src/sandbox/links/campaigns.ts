import { Refusal } from '../http/answer.ts';
import {
  existing,
  type LinksContext,
  type LinksRoutes,
  listPage,
  members,
  ok,
  optionalFlag,
  optionalText,
  requiredText,
} from './context.ts';
import type { Campaign, LinksStore } from './store.ts';

/** A campaign with its name under `name`, as an entry of the list. */
function viewCampaign(store: LinksStore, campaign: Campaign) {
  const { id, name, slug } = campaign;
  const rotator = slug === null ? false : `${store.url}/r/${encodeURIComponent(slug)}`;
  return { id, name, public: campaign.public, rotator, list: `${store.url}/campaign/${id}` };
}

/** The response of create and update, which has the name under `domain`. */
function written(store: LinksStore, campaign: Campaign) {
  const { name, ...rest } = viewCampaign(store, campaign);
  return ok({ domain: name, ...rest });
}

function freeSlug(context: LinksContext, slug: string | undefined, except?: number) {
  // Installations convert any text to a slug; an empty one removes the rotator.
  const clean = slug
    ?.toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  if (slug && !clean) throw new Refusal(400, 'The slug must contain letters or digits');
  const taken = context.store.campaigns
    .all()
    .some((other) => other.slug === clean && other.id !== except);
  if (clean && taken) throw new Refusal(400, 'The slug is already taken');
  return clean;
}

function find(context: LinksContext, id: string | undefined): Campaign {
  return existing(context.store.campaigns.find(context.account.id, Number(id)), 'Campaign');
}

/** Implements: Link API > Campaigns. */
export const campaignRoutes: LinksRoutes = {
  'GET /api/campaigns': (context) =>
    listPage(context, 'campaigns', context.store.campaigns.of(context.account.id), (row) =>
      viewCampaign(context.store, row),
    ),
  'POST /api/campaign/add': (context) => {
    const body = members(context);
    const { store, account } = context;
    const campaign = store.campaigns.add({
      owner: account.id,
      name: optionalText(body, 'name') || `Campaign ${store.campaigns.all().length + 1}`,
      slug: freeSlug(context, optionalText(body, 'slug')) || null,
      public: optionalFlag(body, 'public') ?? false,
      links: new Set(),
    });
    return written(store, campaign);
  },
  'POST /api/campaign/:campaignid/assign/:linkid': (context, { campaignid, linkid }) => {
    const campaign = find(context, campaignid);
    const link = existing(context.store.links.find(context.account.id, Number(linkid)), 'Link');
    campaign.links.add(link.id);
    return ok({ message: 'Link successfully added to the campaign.' });
  },
  'PUT /api/campaign/:id/update': (context, { id }) => {
    const campaign = find(context, id);
    const body = members(context);
    const name = requiredText(body, 'name');
    const slug = freeSlug(context, optionalText(body, 'slug'), campaign.id);
    campaign.public = optionalFlag(body, 'public') ?? campaign.public;
    campaign.name = name;
    if (slug !== undefined) campaign.slug = slug || null;
    return written(context.store, campaign);
  },
  'DELETE /api/campaign/:id/delete': (context, { id }) => {
    context.store.campaigns.remove(context.account.id, find(context, id).id);
    return ok({ message: 'Campaign has been deleted successfully.' });
  },
};
