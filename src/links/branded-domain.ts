import type { List, Row } from '../upstream/call.ts';
import type { RowReader } from '../upstream/decode.ts';
import { pageDecoder } from '../upstream/page.ts';

/** A domain of the account's own. Implements: Link API > Resources > Branded domain. */
export interface BrandedDomain extends Row {
  /** A URL with its scheme. */
  readonly domain: string | null;
  /** Where the bare domain leads, a URL. */
  readonly redirectRoot: string | null;
  /** Where unknown links lead, a URL. */
  readonly redirect404: string | null;
}

/** @throws DecodeError when the domain has no id. */
export function decodeBrandedDomain(row: RowReader): BrandedDomain {
  return {
    id: row.id(),
    domain: row.text('domain'),
    redirectRoot: row.text('redirectroot'),
    redirect404: row.text('redirect404'),
  };
}

/**
 * All branded domains. 1 upstream call a page.
 * Implements: Link API > Branded domains > List domains.
 */
export const domains: List<BrandedDomain> = {
  resource: 'domains',
  tags: ['domains'],
  path: '/api/domains',
  paged: true,
  decode: pageDecoder({ resource: 'domains', keys: ['domains'], decodeRow: decodeBrandedDomain }),
};
