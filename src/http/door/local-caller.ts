import type { IncomingMessage } from 'node:http';
import { senderOf } from './sender.ts';

/** What the names of headers contain that proxies add to a request: whole words, between hyphens or underscores. */
const ADDED_BY_PROXIES = new RegExp(
  [
    // Forwarded, X-Forwarded-For, X-HTTP-Forwarded-For, Max-Forwards, ...
    'forward',
    // Via, CDN-Loop, X-Original-Host, Proxy-Connection, X-SSL-Client-Cert, and the names of products and networks.
    '(?:^|[-_])(?:via|cdn|edge|original|proxy|rewrite|ssl|arr|envoy|haproxy|ingress|varnish|akamai|amzn?|appengine|azure|cf|cloudfront|fastly|fly|incap|nf|railway|sucuri|tailscale|vercel)(?:[-_]|$)',
    // The address, host and scheme of the client: X-Real-IP, X-Azure-ClientIP, Remote-Addr, X-Scheme, Front-End-Https, ...
    '(?:^|[-_]|client|socket|user)(?:ip(?:v[46])?|addr|address)$',
    '[-_](?:host|https|proto|scheme)(?:[-_]|$)',
  ].join('|'),
);

/**
 * Whether a proxy has passed a request on. nginx before 1.29.7 uses HTTP/1.0 by default, without a header that
 * identifies it; current programs do not.
 */
export function isPassedOn(request: IncomingMessage): boolean {
  const { version } = senderOf(request);
  return (
    version !== '1.1' || Object.keys(request.headers).some((name) => ADDED_BY_PROXIES.test(name))
  );
}

/**
 * Whether a request comes from this machine itself. A request that a proxy on it has passed on does not, nor one
 * by DNS rebinding, which names another host.
 */
export function isLocal(request: IncomingMessage): boolean {
  const loopback = /^(::ffff:)?127\.|^::1$/.test(senderOf(request).address);
  const named = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/i.test(request.headers.host ?? '');
  return loopback && named && !isPassedOn(request);
}
