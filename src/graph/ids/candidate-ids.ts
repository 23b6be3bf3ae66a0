import { OutcomeUnknown } from '../../errors.ts';
import type { Resource } from '../../resources.ts';
import { encodeGlobalId } from './global-id.ts';

/** The types of the rows that mutations create. */
const typenames: Readonly<Partial<Record<Resource, string>>> = {
  campaigns: 'Campaign',
  channels: 'Channel',
  domains: 'BrandedDomain',
  files: 'File',
  pixels: 'Pixel',
  qrCodes: 'QrCode',
  users: 'User',
};

/** An error with the global ids of the rows that may be the result of a write, if it has any; any other unchanged. */
export function withCandidateIds(error: unknown): unknown {
  if (!(error instanceof OutcomeUnknown)) return error;
  const { advice, options, upstream } = error;
  const { candidates, details } = options;
  const typename = candidates && typenames[candidates.resource];
  if (!candidates || typename === undefined) return error;
  const ids = candidates.ids.map((id) => encodeGlobalId(typename, id));
  return new OutcomeUnknown(upstream, advice, {
    check: options.check,
    details: { ...details, candidates: ids },
    cause: options.cause,
  });
}
