import type { List, Row } from '../upstream/call.ts';
import type { RowReader } from '../upstream/decode.ts';
import { pageDecoder } from '../upstream/page.ts';

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
export function decodeCampaign(row: RowReader): Campaign {
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
