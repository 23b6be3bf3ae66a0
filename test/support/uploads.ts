import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AnswerError } from './gateway.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** The answer to an upload: the file, or why there is none. */
export interface UploadAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly id?: string;
  readonly databaseId?: number;
  readonly shortUrl?: string;
  readonly errors?: readonly AnswerError[];
}

/** Bytes that are no text and no two kilobytes of which are alike. */
export function someBytes(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + (index >> 8) * 7) % 256);
}

/** Begins a PUT, whose body a test sends in its own time. */
export function beginUpload(
  url: string,
  target: string,
  headers: Readonly<Record<string, string | number>> = {},
): ClientRequest {
  const sent = request(`${url}${target}`, { method: 'PUT', headers });
  // What is cut off fails here; each test looks at what came of it instead.
  sent.on('error', () => undefined);
  return sent;
}

/** Reads the answer to an upload. */
export async function uploadAnswer(sent: ClientRequest): Promise<UploadAnswer> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, headers } = response;
  return { ...JSON.parse(await text(response)), status, headers };
}

/** Sends a whole file. */
export function upload(
  url: string,
  target: string,
  body: Uint8Array | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<UploadAnswer> {
  const length = { 'content-length': Buffer.byteLength(body) };
  const sent = beginUpload(url, target, { ...length, ...headers });
  sent.end(body);
  return uploadAnswer(sent);
}

/** Waits for something that another socket brings about, by turns of the event loop and no clock. */
export async function until(happened: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await happened())) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** Lets time pass until something is done. What may take real time must not have a deadline. */
export async function asTimePasses<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  const state = { done: false };
  const watched = work.finally(() => {
    state.done = true;
  });
  while (!state.done) await clock.advance(500);
  return watched;
}
