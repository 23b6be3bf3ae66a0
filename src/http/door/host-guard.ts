import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** Whether the gateway answers under the name in a request's `Host` header. */
export type HostGuard = (host: string | undefined) => boolean;

/**
 * Blocks DNS rebinding, by which a page makes the name of its own server resolve to this machine, so that
 * a browser on it takes the gateway for that server. Addresses need no resolving and always pass.
 * `null` when there is nothing to check against: a gateway that listens beyond this machine knows
 * its own names only from `allowed`.
 */
export function createHostGuard(listensOn: string, allowed: readonly string[]): HostGuard | null {
  const loopback = /^(localhost|127\.[\d.]+|::1)$/i.test(listensOn);
  if (!loopback && allowed.length === 0) return null;
  const names = new Set(['localhost', ...allowed.map((name) => name.toLowerCase())]);
  const isKnown = (host: string): boolean => {
    const name = host
      .replace(/:\d*$/, '')
      .replace(/^\[|\]$/g, '')
      .toLowerCase();
    return names.has(name) || isIP(name) !== 0;
  };
  // Nearly always it is the same one again.
  let last = '';
  let lastIsKnown = isKnown(last);
  return (host) => {
    // Every browser sends the header, and only browsers are protected.
    if (host === undefined) return true;
    if (host !== last) {
      last = host;
      lastIsKnown = isKnown(host);
    }
    return lastIsKnown;
  };
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
