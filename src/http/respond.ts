import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GraphQLError } from 'graphql';
import { setSecurityHeaders } from './door/every-request.ts';
import { etagOfText, holdsETag } from './door/headers/etag.ts';
import { keepCompressed } from './encoding/compress.ts';

/** A body with what its headers say of it. */
export interface Content {
  /** Its media type, with the charset for text. */
  readonly type: string;
  readonly body: string | Buffer;
  /** With a tag, a caller that has this content gets a 304. */
  readonly etag?: string;
  /** How the body is compressed already. Any other may be compressed on its way: none holds a secret. */
  readonly encoding?: 'br' | 'gzip';
}

/** An HTTP response that is complete before its headers are sent. */
export interface PlainAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default 'no-store' */
  readonly cacheControl?: string;
  /** Request headers that choose between several contents. */
  readonly vary?: string;
  /** Absent for a response without a body. */
  readonly content?: Content;
}

/** Sends the body, after which the response has ended. The head is set, but has not been sent yet. */
export type SendBody = (response: ServerResponse, body: string | Buffer) => void;

/**
 * Writes all plain HTTP responses: all except operations and event streams. It sets all headers besides the common
 * ones, answers HEAD with the headers of GET, and sends 304 if the client has the content. Does nothing once the
 * client has disconnected.
 * Implements: RFC 9110 sections 9.3.2, 13.1.2 and 15.4.5.
 */
export function respond(
  response: ServerResponse,
  { cacheControl = 'no-store', content, headers = {}, status, vary }: PlainAnswer,
  send: SendBody = sendAtOnce,
): void {
  if (response.destroyed) return;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader('Cache-Control', cacheControl);
  if (vary !== undefined) response.appendHeader('Vary', vary);
  response.statusCode = status;
  if (!content) {
    if (status !== 204) response.setHeader('Content-Length', 0);
    response.end();
    return;
  }
  const { body, encoding, etag, type } = content;
  if (etag !== undefined) {
    response.setHeader('ETag', etag);
    if (holdsETag(response.req.headers['if-none-match'] ?? null, etag)) {
      // With all headers but those of the body: a browser takes them over for the page that it has.
      response.statusCode = 304;
      response.end();
      return;
    }
  }
  response.setHeader('Content-Type', type);
  if (encoding !== undefined) response.setHeader('Content-Encoding', encoding);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  if (response.req.method === 'HEAD') response.end();
  else send(response, body);
}

const sendAtOnce: SendBody = (response, body) => void response.end(body);

/** A plain-text sentence. */
export function textAnswer(status: number, sentence: string): PlainAnswer {
  return { status, content: { type: 'text/plain; charset=utf-8', body: `${sentence}\n` } };
}

/** Content that is made once and sent many times: all responses share its bytes, and what they are compressed to. */
export function sharedContent(type: string, text: string): Content {
  return { type, body: keepCompressed(Buffer.from(text)), etag: etagOfText(text) };
}

/** JSON, made from a value or given as it is. */
export function jsonAnswer(status: number, json: object | string): PlainAnswer {
  const text = typeof json === 'string' ? json : JSON.stringify(json);
  return { status, content: { type: 'application/json; charset=utf-8', body: `${text}\n` } };
}

/** An error in the format of `/graphql`, with its status and headers. */
export function errorAnswer({
  extensions,
  message,
}: Pick<GraphQLError, 'extensions' | 'message'>): PlainAnswer {
  const { http, ...shown } = extensions;
  const { headers = {}, status = 500 } = (http ?? {}) as Partial<PlainAnswer>;
  return { ...jsonAnswer(status, { errors: [{ message, extensions: shown }] }), headers };
}

/** Leads to another path. */
export function redirect(path: string): PlainAnswer {
  return { status: 302, headers: { Location: path } };
}

/** Passes GET and HEAD to a route; `also` are other methods that it handles elsewhere. */
export function isReading(request: IncomingMessage, response: ServerResponse, also = ''): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const refusal = textAnswer(405, 'Only GET and HEAD are allowed.');
  respond(response, { ...refusal, headers: { Allow: `GET, HEAD${also}` } });
  return false;
}

/** The methods that some route handles, for `Allow`. */
export const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, OPTIONS';

/** Refuses a CONNECT, by which a client uses the gateway as a proxy. Node would only close the connection. */
export function refuseTunnel(request: IncomingMessage, socket: Duplex): void {
  // The sender can be gone by now.
  socket.on('error', () => {});
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.destroy());
  setSecurityHeaders(response);
  const refusal = textAnswer(405, 'The gateway is not a proxy.');
  respond(response, { ...refusal, headers: { Allow: ALLOWED_METHODS } });
}
