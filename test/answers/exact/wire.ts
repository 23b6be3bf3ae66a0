import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import * as zlib from 'node:zlib';

/** A request as it is sent over a socket. */
export interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `null` of a GET. */
  readonly body: string | null;
}

/** All that an answer says, but for what is another each time. */
export interface Seen {
  readonly status: number;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Decoded. */
  readonly body: string;
}

/** The same for all requests, so that it is the same in all answers. */
const REQUEST_ID = 'exactly-this';

/** Sends requests to one gateway over connections of its own. */
export class Wire {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /**
   * Sends a request as it is, with a length, or in chunks. What comes in chunks is taken by nothing in front of
   * Yoga, and nothing of it is remembered: that is the whole path.
   */
  async ask(sent: Sent, how: 'as it is' | 'in chunks'): Promise<Seen> {
    const { method, path, headers, body } = sent;
    const framing =
      how === 'in chunks'
        ? { 'transfer-encoding': 'chunked' }
        : body !== null && { 'content-length': String(Buffer.byteLength(body)) };
    const request = send(this.#url + path, {
      method,
      agent: this.#agent,
      headers: { ...headers, 'x-request-id': REQUEST_ID, ...framing },
    }).end(body ?? undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return seen(response, await buffer(response));
  }

  close(): void {
    this.#agent.destroy();
  }
}

function seen({ headersDistinct, statusCode = 0 }: IncomingMessage, bytes: Buffer): Seen {
  const headers: Record<string, readonly string[]> = {};
  for (const [name, values = []] of Object.entries(headersDistinct)) headers[name] = values;
  const encoding = headers['content-encoding']?.join() ?? 'identity';
  // Compressed at another level, the same answer has another length: what counts is that the header is right.
  const length = headers['content-length'];
  if (length) headers['content-length'] = [Number(length) === bytes.length ? 'right' : 'wrong'];
  // A list in any order.
  const vary = headers['vary']?.flatMap((value) => value.toLowerCase().split(/\s*,\s*/));
  if (vary) headers['vary'] = [...new Set(vary)].sort();
  delete headers['date'];
  return { status: statusCode, headers, body: decoded(bytes, encoding) };
}

function decoded(bytes: Buffer, encoding: string): string {
  if (bytes.length === 0) return '';
  switch (encoding) {
    case 'identity':
      return bytes.toString();
    case 'br':
      return zlib.brotliDecompressSync(bytes).toString();
    case 'gzip':
      return zlib.gunzipSync(bytes).toString();
    default:
      throw new Error(`An answer in ${encoding}, which was not asked for.`);
  }
}
