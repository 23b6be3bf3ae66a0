import type { CodedError } from './errors.ts';
import { headersOf, type Settings } from './settings.ts';

/** How long an upload may wait for its turn, in seconds. */
const WAIT_SECONDS = 5;

/** A file as the gateway answers it. */
export interface UploadedFile {
  readonly id: string;
  readonly shortUrl: string | null;
}

/** How an upload ended; neither when it was called off. */
export interface UploadEnd {
  readonly file?: UploadedFile;
  readonly errors?: readonly CodedError[];
}

/**
 * Sends a file as it is and reports its progress: `fetch` knows nothing of progress. Costs 1 upstream call.
 * Returns what calls it off. Never throws.
 */
export function uploadFile(
  { gateway, token }: Settings,
  file: File,
  onProgress: (sent: number, total: number) => void,
  onEnd: (end: UploadEnd) => void,
): () => void {
  const request = new XMLHttpRequest();
  const fail = (message: string): void => onEnd({ errors: [{ message }] });
  request.open('PUT', `${gateway}/files/${encodeURIComponent(file.name)}`);
  for (const [name, value] of Object.entries(headersOf(token, WAIT_SECONDS))) {
    request.setRequestHeader(name, value);
  }
  request.responseType = 'json';
  request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded, total));
  request.addEventListener('load', () => {
    const { response, status } = request;
    if (status === 201) onEnd({ file: response });
    else if (response?.errors) onEnd({ errors: response.errors });
    else fail(`The upload failed with status ${status}.`);
  });
  request.addEventListener('error', () =>
    fail('The connection was lost. Check whether the file was uploaded.'),
  );
  request.addEventListener('abort', () => onEnd({}));
  request.send(file);
  return () => request.abort();
}
