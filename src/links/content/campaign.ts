import { pageDecoder } from '../../upstream/decode/envelope.ts';
import { flag, link, type RowOf, text } from '../../upstream/decode/fields.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { creation, refusedAgain, repeatable } from '../evidence.ts';
import { sameFlag, sameSlug, sameText } from '../likeness.ts';
import { touches } from '../touches.ts';
import { given, removal, writtenDecoder } from '../written.ts';

const fields = {
  // Lists hold the name under any of the three.
  name: text('name', 'campaign', 'domain'),
  public: flag('public'),
  // A URL that leads to one of the campaign's links; `null` when it has no slug.
  rotatorUrl: link('rotator'),
  // A URL that lists the campaign's links.
  listUrl: link('list'),
};

/** Responses to writes have the name under `domain`. */
const writtenFields = { ...fields, name: text('domain', 'campaign', 'name') };

/** A group of short links. Implements: Link API > Resources > Campaign. */
export type Campaign = RowOf<typeof fields>;

/**
 * All campaigns. 1 upstream request per page. The API has no read of one campaign: it is found in the list.
 * Implements: Link API > Campaigns > List campaigns.
 */
export const campaigns: List<Campaign> = {
  resource: 'campaigns',
  tags: ['campaigns'],
  path: '/api/campaigns',
  paged: true,
  decode: pageDecoder({ resource: 'campaigns', keys: ['campaigns'], fields }),
};

/** Values of a campaign; the upstream chooses missing and `null` members. */
export interface CreateCampaign {
  readonly name?: string | null | undefined;
  /** The last part of the rotator's URL. */
  readonly slug?: string | null | undefined;
  readonly public?: boolean | null | undefined;
}

/**
 * Creates a campaign. 1 upstream request.
 * Implements: Link API > Campaigns > POST /api/campaign/add.
 */
export function createCampaign(input: CreateCampaign): Write<Known<Campaign>> {
  return {
    method: 'POST',
    path: '/api/campaign/add',
    body: given({ name: input.name, slug: input.slug, public: input.public }),
    decode: writtenDecoder('campaigns', writtenFields, input),
    touches: touches.createCampaign,
    check: 'Query.campaigns',
    evidence: creation(campaigns, membersOf(input), {
      unique: input.slug == null ? null : 'rotatorUrl',
    }),
  };
}

/**
 * Changes a campaign. 1 upstream request.
 * Implements: Link API > Campaigns > PUT /api/campaign/:id/update.
 */
export function updateCampaign(
  id: number,
  input: CreateCampaign & { readonly name: string },
): Write<Known<Campaign>> {
  return {
    method: 'PUT',
    path: `/api/campaign/${id}/update`,
    body: given({ name: input.name, slug: input.slug, public: input.public }),
    decode: writtenDecoder('campaigns', writtenFields, input, id),
    touches: touches.updateCampaign,
    check: 'Query.campaigns',
    row: `campaign:${id}`,
    // The slug of the first request can be taken for the second.
    evidence: input.slug == null ? repeatable : refusedAgain,
  };
}

/**
 * Deletes a campaign; its links are kept. 1 upstream request.
 * Implements: Link API > Campaigns > DELETE /api/campaign/:id/delete.
 */
export function deleteCampaign(id: number): Write<Row> {
  return removal('/api/campaign', id, {
    touches: touches.deleteCampaign,
    check: 'Query.campaigns',
    row: `campaign:${id}`,
  });
}

/**
 * Adds a link to a campaign. 1 upstream request.
 * Implements: Link API > Campaigns > POST /api/campaign/:campaignid/assign/:linkid.
 */
export function assignLinkToCampaign(id: number, linkId: number): Write<Known<Campaign>> {
  return {
    method: 'POST',
    path: `/api/campaign/${id}/assign/${linkId}`,
    decode: () => ({ id }),
    touches: touches.assignLinkToCampaign,
    check: 'the campaign',
    // Not the campaign, whose other links and members a second request does not change.
    row: `link:${linkId}`,
    evidence: refusedAgain,
  };
}

/** What a write gives to the members of a campaign. */
function membersOf({ name, slug, public: isPublic }: CreateCampaign) {
  return { name: sameText(name), rotatorUrl: sameSlug(slug), public: sameFlag(isPublic) };
}
