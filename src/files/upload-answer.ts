import { UpstreamRejected } from '../errors.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import { errorAnswer, type PlainAnswer } from '../http/respond.ts';
import { UploadFault } from './upload-body.ts';
import { TooManyUploads } from './upload-places.ts';

/** The status for a code where it differs from what `/graphql` answers. */
const statusByCode: Readonly<Record<string, number>> = {
  UPSTREAM_REJECTED: 422,
  // Proxies send a PUT again after 502 to 504.
  OUTCOME_UNKNOWN: 500,
};

/** What an upload is answered that came to nothing: as `/graphql` has it, but for the status. */
export function refusalOf(
  error: unknown,
  maskError: MaskError,
): { readonly answer: PlainAnswer; readonly code: string } {
  const { extensions, message } = maskError(error);
  const code = String(extensions['code']);
  const own =
    error instanceof UploadFault || error instanceof TooManyUploads ? error.status : undefined;
  const shown = error instanceof UpstreamRejected ? error.reason : message;
  const usual = errorAnswer({ extensions, message: shown });
  return { answer: { ...usual, status: own ?? statusByCode[code] ?? usual.status }, code };
}
