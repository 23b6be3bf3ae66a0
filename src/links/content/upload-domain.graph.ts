import { InvalidInput } from '../../errors.ts';
import { fault, type InputChecks } from '../../graph/checks.ts';
import { isReference, parseId } from '../../graph/ids/global-id.ts';
import type { Source } from '../../graph/rows/source.ts';
import { domains } from '../brand/branded-domain.ts';
import type { UploadFile } from './file.ts';

/** Checks the domain of an upload: a domain, or the id of one. */
export function checkDomain(checks: InputChecks, domain: string): void {
  if (isReference(domain)) checks.id('domain', 'BrandedDomain', domain);
  else checks.domain('domain', /^https?:/i.test(domain) ? domain : `https://${domain}`);
}

/**
 * The upload with its domain in the place of the id of one. Costs what `Source.find` costs for an id, otherwise
 * nothing. `base` is the path to its members; `isPlanned` if a domain that was not read is no fault.
 * @throws InvalidInput `BAD_USER_INPUT` if the account has no such domain.
 */
export async function withDomain(
  upload: UploadFile,
  links: Source,
  {
    base = [],
    isPlanned = false,
  }: { readonly base?: readonly string[]; readonly isPlanned?: boolean } = {},
): Promise<UploadFile> {
  const { domain: given } = upload;
  if (given == null || !isReference(given)) return upload;
  const row = await links.find(domains, parseId('BrandedDomain', given));
  const domain = row?.domain;
  if (domain || isPlanned) return { ...upload, domain: domain ?? given };
  const message = 'is not the ID of a domain of the account.';
  const type = 'BrandedDomain';
  throw new InvalidInput([
    { path: [...base, 'domain'], ...fault('INVALID_ID', message, { type }) },
  ]);
}
