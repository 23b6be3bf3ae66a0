import { pageDecoder } from '../../upstream/decode/page.ts';
import type { RowReader } from '../../upstream/decode/row-reader.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { given, openWritten } from '../written.ts';

/** A group of short links. Implements: Link API > Resources > Campaign. */
export interface Campaign extends Row {
  readonly name: string | null;
  readonly public: boolean | null;
  /** A URL that leads to one of the campaign's links; `null` when it has no slug. */
  readonly rotatorUrl: string | null;
  /** A URL that lists the campaign's links. */
  readonly listUrl: string | null;
}

/** @throws DecodeError when the campaign has no id. */
function decodeCampaign(row: RowReader): Campaign {
  return {
    id: row.id(),
    // Writes answer with the name under `domain`, lists under any of the three.
    name: row.text('name', 'campaign', 'domain'),
    public: row.flag('public'),
    rotatorUrl: row.link('rotator'),
    listUrl: row.link('list'),
  };
}

/**
 * All campaigns. 1 upstream call a page. The API has no read of one campaign: it is found in the list.
 * Implements: Link API > Campaigns > List campaigns.
 */
export const campaigns: List<Campaign> = {
  resource: 'campaigns',
  tags: ['campaigns'],
  path: '/api/campaigns',
  paged: true,
  decode: pageDecoder({ resource: 'campaigns', keys: ['campaigns'], decodeRow: decodeCampaign }),
};

/** What to set of a campaign; the upstream chooses what is absent or `null`. */
export interface CreateCampaign {
  readonly name?: string | null | undefined;
  /** What the rotator's URL ends with. */
  readonly slug?: string | null | undefined;
  readonly public?: boolean | null | undefined;
}

/**
 * Makes a campaign. 1 upstream call.
 * Implements: Link API > Campaigns > POST /api/campaign/add.
 */
export function createCampaign(input: CreateCampaign): Write<Known<Campaign>> {
  return {
    method: 'POST',
    path: '/api/campaign/add',
    body: given({ name: input.name, slug: input.slug, public: input.public }),
    decode: (body, context) => {
      const row = openWritten(body, 'campaigns', context);
      return decodeWritten(row, row.id(), input);
    },
    touches: touches.createCampaign,
    check: 'Query.campaigns',
  };
}

/**
 * Changes a campaign. 1 upstream call.
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
    decode: (body, context) => decodeWritten(openWritten(body, 'campaigns', context), id, input),
    touches: touches.updateCampaign,
    check: 'Query.campaigns',
  };
}

/**
 * Removes a campaign; its links stay. 1 upstream call.
 * Implements: Link API > Campaigns > DELETE /api/campaign/:id/delete.
 */
export function deleteCampaign(id: number): Write<{ readonly id: number }> {
  return {
    method: 'DELETE',
    path: `/api/campaign/${id}/delete`,
    decode: () => ({ id }),
    touches: touches.deleteCampaign,
    check: 'Query.campaigns',
  };
}

/**
 * Adds a link to a campaign. 1 upstream call.
 * Implements: Link API > Campaigns > POST /api/campaign/:campaignid/assign/:linkid.
 */
export function assignLinkToCampaign(id: number, linkId: number): Write<Known<Campaign>> {
  return {
    method: 'POST',
    path: `/api/campaign/${id}/assign/${linkId}`,
    decode: () => ({ id }),
    touches: touches.assignLinkToCampaign,
    check: 'the campaign',
  };
}

/** Members from a write's answer, else from its input; the others stay unknown. */
function decodeWritten(row: RowReader, id: number, input: CreateCampaign): Known<Campaign> {
  const has = (...members: string[]) => members.some((member) => row.has(member));
  return {
    id,
    name: has('domain', 'campaign', 'name')
      ? row.text('domain', 'campaign', 'name')
      : (input.name ?? undefined),
    public: has('public') ? row.flag('public') : (input.public ?? undefined),
    rotatorUrl: has('rotator') ? row.link('rotator') : undefined,
    listUrl: has('list') ? row.link('list') : undefined,
  };
}
