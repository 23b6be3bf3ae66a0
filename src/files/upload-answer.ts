import { UpstreamRejected } from '../errors.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import { errorAnswer, type PlainAnswer } from '../http/respond.ts';
import { UploadFault } from './upload-body.ts';
import { TooManyTransfers } from './upload-places.ts';

/** The statuses that differ from those of `/graphql`. */
const statusByCode: Readonly<Record<string, number>> = {
  UPSTREAM_REJECTED: 422,
  // Proxies send a PUT again after 502 to 504.
  OUTCOME_UNKNOWN: 500,
};

/** The response to a failed upload: as for `/graphql`, except for the status. */
export function refusalOf(
  error: unknown,
  maskError: MaskError,
): { readonly answer: PlainAnswer; readonly code: string } {
  const { extensions, message } = maskError(error);
  const code = String(extensions['code']);
  const own =
    error instanceof UploadFault || error instanceof TooManyTransfers ? error.status : undefined;
  const shown = error instanceof UpstreamRejected ? error.reason : message;
  const usual = errorAnswer({ extensions, message: shown });
  return { answer: { ...usual, status: own ?? statusByCode[code] ?? usual.status }, code };
}
