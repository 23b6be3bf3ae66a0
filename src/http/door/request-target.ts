import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { respond, textAnswer } from '../respond.ts';
import { setSecurityHeaders } from './headers/every-answer.ts';

/** What clients of a proxy send, and what every server must take: the whole address. */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)((?:[/?][^#]*)?)$/i;

/**
 * Brings a request target into the form that all routes read: a path with its query. Where a request names the
 * whole address, the host in it takes the place of the `Host` header in everything that is decided by a host.
 * Returns false for what no route can read, and leaves that as it is.
 * Implements: RFC 9112 sections 3.2.1 to 3.2.4.
 */
export function readTarget(request: IncomingMessage): boolean {
  const { method, url = '' } = request;
  if (url.startsWith('/')) return true;
  if (url === '*') return method === 'OPTIONS';
  const [, host, rest] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined || rest === undefined || !URL.canParse(`http://${host}`)) return false;
  request.headers.host = host;
  if (rest === '' && method === 'OPTIONS') request.url = '*';
  else request.url = rest.startsWith('/') ? rest : `/${rest}`;
  return true;
}

/** The methods that some route answers, as `Allow` lists them. */
export const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, OPTIONS';

/** Answers a CONNECT, by which a client takes the gateway for a proxy. Node would only close the connection. */
export function refuseTunnel(request: IncomingMessage, socket: Duplex): void {
  // The sender can be gone by now.
  socket.on('error', () => {});
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.destroy());
  setSecurityHeaders(response);
  const refusal = textAnswer(405, 'The gateway is no proxy.');
  respond(response, { ...refusal, headers: { Allow: ALLOWED_METHODS } });
}

/** What may be said once only: a proxy in front may have gone by another one than Node does. */
const ONCE = ['host', 'authorization'] as const;

/** Which header of a request stands there twice though it may not; `null` when none does. */
export function repeatedHeader({ rawHeaders }: IncomingMessage): string | null {
  for (const name of ONCE) {
    if (isRepeated(rawHeaders, name)) return name;
  }
  return null;
}

/** `headers`: names and values by turns. */
function isRepeated(headers: readonly string[], name: string): boolean {
  let seen = false;
  for (let at = 0; at < headers.length; at += 2) {
    if (!isNamed(headers[at] ?? '', name)) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

/** Compares the lengths first: nearly all headers differ there. */
function isNamed(header: string, name: string): boolean {
  return header.length === name.length && (header === name || header.toLowerCase() === name);
}
