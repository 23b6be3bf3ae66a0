import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

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

/** Answers a CONNECT, by which a client takes the gateway for a proxy. Node would only close the connection. */
export function refuseTunnel(_: IncomingMessage, socket: Duplex): void {
  // The sender can be gone by now.
  socket.on('error', () => {});
  socket.end(
    'HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD, POST, PUT, OPTIONS\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    () => socket.destroy(),
  );
}
