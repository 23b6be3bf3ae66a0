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
  return (host) => {
    // Every browser sends the header, and only browsers are protected.
    if (host === undefined) return true;
    const name = host
      .replace(/:\d*$/, '')
      .replace(/^\[|\]$/g, '')
      .toLowerCase();
    return names.has(name) || isIP(name) !== 0;
  };
}
