import { brotliDecompressSync, gunzipSync } from 'node:zlib';

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  /** Status line and headers, without the empty line behind them. */
  readonly head: string;
  /** One character for each byte. */
  readonly body: string;
  /** Of the head, the body and what frames it. */
  readonly bytes: number;
}

const END_OF_HEAD = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';
const STATUS = /^HTTP\/1\.1 (\d+)/;
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;

/**
 * Reads an answer from what has come over a connection, one character for each byte; `null` until all of it is there.
 * @throws Error for an answer that does not say where it ends.
 */
export function parseAnswer(text: string): Answer | null {
  const end = text.indexOf(END_OF_HEAD);
  if (end < 0) return null;
  const head = text.slice(0, end);
  const from = end + END_OF_HEAD.length;
  const status = Number(STATUS.exec(head)?.[1]);
  const length = LENGTH.exec(head);
  if (length || status === 304 || status === 204) {
    const bytes = from + Number(length?.[1] ?? 0);
    return text.length < bytes ? null : { status, head, body: text.slice(from, bytes), bytes };
  }
  if (!CHUNKED.test(head)) throw new Error(`An answer without a length: ${head}`);
  if (!text.endsWith(LAST_CHUNK)) return null;
  return { status, head, body: unchunked(text.slice(from)), bytes: text.length };
}

/** A header of an answer by its lower-case name; `null` where there is none. */
export function headerOf({ head }: Answer, name: string): string | null {
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (line.slice(0, colon).toLowerCase() === name) return line.slice(colon + 1).trim();
  }
  return null;
}

/** The text of an answer's body, decompressed. */
export function textOf(answer: Answer): string {
  const bytes = Buffer.from(answer.body, 'latin1');
  const encoding = headerOf(answer, 'content-encoding') ?? 'identity';
  if (encoding === 'br') return brotliDecompressSync(bytes).toString();
  if (encoding === 'gzip') return gunzipSync(bytes).toString();
  if (encoding === 'identity') return bytes.toString();
  throw new Error(`An answer in ${encoding}, which was not asked for.`);
}

function unchunked(text: string): string {
  let body = '';
  let at = 0;
  for (;;) {
    const line = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (!(size > 0)) return body;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}
