import { pageDecoder } from '../../upstream/decode/page.ts';
import type { RowReader } from '../../upstream/decode/row-reader.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { given, openWritten } from '../written.ts';

/** A domain that the account owns. Implements: Link API > Resources > Branded domain. */
export interface BrandedDomain extends Row {
  /** A URL with its scheme. */
  readonly domain: string | null;
  /** URL that the bare domain redirects to. */
  readonly redirectRoot: string | null;
  /** URL that unknown links redirect to. */
  readonly redirect404: string | null;
}

/** @throws DecodeError when the domain has no id. */
function decodeBrandedDomain(row: RowReader): BrandedDomain {
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
 * Adds a domain, which must already point at the service. 1 upstream call.
 * Implements: Link API > Branded domains > POST /api/domain/add.
 */
export function createDomain(input: CreateDomain): Write<Known<BrandedDomain>> {
  // Browsers copy a URL with a trailing slash, which is no part of the domain.
  const domain = input.domain.replace(/\/$/, '');
  const members = { ...input, domain };
  return {
    method: 'POST',
    path: '/api/domain/add',
    body: given({ domain, redirectroot: input.redirectRoot, redirect404: input.redirect404 }),
    decode: (body, context) => {
      const row = openWritten(body, 'domains', context);
      return decodeWritten(row, row.id(), members);
    },
    touches: touches.createDomain,
    check: 'Query.domains',
  };
}

/**
 * Changes where a domain redirects to. 1 upstream call.
 * Implements: Link API > Branded domains > PUT /api/domain/:id/update.
 */
export function updateDomain(id: number, input: UpdateDomain): Write<Known<BrandedDomain>> {
  return {
    method: 'PUT',
    path: `/api/domain/${id}/update`,
    body: given({ redirectroot: input.redirectRoot, redirect404: input.redirect404 }),
    decode: (body, context) => decodeWritten(openWritten(body, 'domains', context), id, input),
    touches: touches.updateDomain,
    check: 'Query.domains',
  };
}

/**
 * Removes a domain. 1 upstream call.
 * Implements: Link API > Branded domains > DELETE /api/domain/:id/delete.
 */
export function deleteDomain(id: number): Write<{ readonly id: number }> {
  return {
    method: 'DELETE',
    path: `/api/domain/${id}/delete`,
    decode: () => ({ id }),
    touches: touches.deleteDomain,
    check: 'Query.domains',
  };
}

/** Members from a write's answer, else from its input; the others stay unknown. */
function decodeWritten(
  row: RowReader,
  id: number,
  input: Partial<CreateDomain>,
): Known<BrandedDomain> {
  return {
    id,
    domain: row.has('domain') ? row.text('domain') : input.domain,
    redirectRoot: row.has('redirectroot')
      ? row.text('redirectroot')
      : (input.redirectRoot ?? undefined),
    redirect404: row.has('redirect404')
      ? row.text('redirect404')
      : (input.redirect404 ?? undefined),
  };
}
