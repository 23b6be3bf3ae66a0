import type { WriteAnswer } from 'links-market-client';
import type { Settings } from './settings.ts';

/** A file as the gateway answers it. */
export interface UploadedFile {
  readonly id: string;
  readonly shortUrl: string | null;
}

/**
 * Sends a file as it is and reports its progress: `fetch` knows nothing of progress. Costs 1 upstream call.
 * Rejects if the connection is lost, and when the signal is aborted.
 */
export function uploadFile(
  { gateway }: Settings,
  file: File,
  headers: Readonly<Record<string, string>>,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<WriteAnswer<UploadedFile>> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', `${gateway}/files/${encodeURIComponent(file.name)}`);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.responseType = 'json';
    request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded));
    request.addEventListener('load', () => {
      const { response, status } = request;
      // Without errors, it is the response of a proxy.
      resolve(status === 201 ? { data: response } : { errors: response?.errors });
    });
    request.addEventListener('error', () => reject(new Error('The connection was lost.')));
    request.addEventListener('abort', () => reject(signal.reason));
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}
