import { pageDecoder } from '../../upstream/decode/envelope.ts';
import { type RowOf, text } from '../../upstream/decode/fields.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { creation, repeatable } from '../evidence.ts';
import { sameHost } from '../likeness.ts';
import { touches } from '../touches.ts';
import { given, removal, writtenDecoder } from '../written.ts';

const fields = {
  // A URL with its scheme.
  domain: text('domain'),
  // URL that the bare domain redirects to.
  redirectRoot: text('redirectroot'),
  // URL that unknown links redirect to.
  redirect404: text('redirect404'),
};

/** A domain that the account owns. Implements: Link API > Resources > Branded domain. */
export type BrandedDomain = RowOf<typeof fields>;

/**
 * All branded domains. 1 upstream request per page.
 * Implements: Link API > Branded domains > List domains.
 */
export const domains: List<BrandedDomain> = {
  resource: 'domains',
  tags: ['domains'],
  path: '/api/domains',
  paged: true,
  decode: pageDecoder({ resource: 'domains', keys: ['domains'], fields }),
};

/** URLs to redirect to: absent or `null` stays as it is, an empty text removes the redirect. */
export interface UpdateDomain {
  readonly redirectRoot?: string | null | undefined;
  readonly redirect404?: string | null | undefined;
}

/** The domain to add, a URL without a path. */
export interface CreateDomain extends UpdateDomain {
  readonly domain: string;
}

/**
 * Adds a domain, whose DNS record must already point to the service. 1 upstream request.
 * Implements: Link API > Branded domains > POST /api/domain/add.
 */
export function createDomain(input: CreateDomain): Write<Known<BrandedDomain>> {
  // Browsers copy a URL with a trailing slash, which is not part of the domain.
  const domain = input.domain.replace(/\/$/, '');
  return {
    method: 'POST',
    path: '/api/domain/add',
    body: given({ domain, redirectroot: input.redirectRoot, redirect404: input.redirect404 }),
    decode: writtenDecoder('domains', fields, { ...input, domain }),
    touches: touches.createDomain,
    check: 'Query.domains',
    evidence: creation(domains, { domain: sameHost(domain) }, { unique: 'domain' }),
  };
}

/**
 * Changes the redirects of a domain. 1 upstream request.
 * Implements: Link API > Branded domains > PUT /api/domain/:id/update.
 */
export function updateDomain(id: number, input: UpdateDomain): Write<Known<BrandedDomain>> {
  return {
    method: 'PUT',
    path: `/api/domain/${id}/update`,
    body: given({ redirectroot: input.redirectRoot, redirect404: input.redirect404 }),
    decode: writtenDecoder('domains', fields, input, id),
    touches: touches.updateDomain,
    check: 'Query.domains',
    row: `domain:${id}`,
    evidence: repeatable,
  };
}

/**
 * Removes a domain. 1 upstream request.
 * Implements: Link API > Branded domains > DELETE /api/domain/:id/delete.
 */
export function deleteDomain(id: number): Write<Row> {
  return removal('/api/domain', id, {
    touches: touches.deleteDomain,
    check: 'Query.domains',
    row: `domain:${id}`,
  });
}
