import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import * as zlib from 'node:zlib';

/** What came over the wire, byte for byte, and what it says once it is decoded. */
export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

/** Decodes a whole body strictly: one that is cut off, or has something behind it, is an error. */
function decode(bytes: Buffer, coding: string | undefined): Buffer {
  if (coding === undefined) return bytes;
  if (coding === 'br') return zlib.brotliDecompressSync(bytes);
  return zlib.gunzipSync(bytes);
}

/** Sends a request on a connection of its own, by a client that decodes nothing by itself; a `path` is sent as it is. */
export function askRaw(
  url: string,
  options: RequestOptions & { readonly body?: string } = {},
): Promise<RawReply> {
  const { body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, ...rest }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece)).on('error', reject);
      response.on('end', () => {
        const { headers, statusCode: status = 0 } = response;
        const bytes = Buffer.concat(pieces);
        try {
          const text = decode(bytes, bytes.length > 0 ? headers['content-encoding'] : undefined);
          resolve({ status, headers, bytes, text: text.toString() });
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on('error', reject).end(body);
  });
}
