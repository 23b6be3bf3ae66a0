import { isIP } from 'node:net';
import { isLoopback } from '../../config/environment.ts';

/** What there is to say of the host that a request names. */
export interface HostStanding {
  /** Whether it is a host, with or without a port. A request that names none is as good. */
  readonly isValid: boolean;
  /** Whether this host name is allowed. */
  readonly isKnown: boolean;
}

/** Looks at the `Host` header of a request. */
export type HostGuard = (host: string | undefined) => HostStanding;

/** Names, and addresses of both kinds, with a port. */
const HOST = /^[\w.:[\]-]+$/;

/**
 * Blocks DNS rebinding, by which a page makes the name of its own server resolve to this machine, so that a
 * browser on it takes the gateway for that server. IP addresses need no resolution and always pass. All names pass
 * if there is nothing to check against: a gateway that listens beyond this machine can learn its own names only
 * from `allowed`.
 */
export function createHostGuard(listensOn: string, allowed: readonly string[]): HostGuard {
  const names = new Set(['localhost', ...allowed.map((name) => name.toLowerCase())]);
  const takesAll = !isLoopback(listensOn) && allowed.length === 0;
  const isKnown = (host: string): boolean => {
    const name = host
      .replace(/:\d*$/, '')
      .replace(/^\[|\]$/g, '')
      .toLowerCase();
    return names.has(name) || isIP(name) !== 0;
  };
  return (host) => {
    // Every browser sends the header, and only browsers are protected.
    if (host === undefined) return { isValid: true, isKnown: true };
    const isValid = HOST.test(host) && URL.canParse(`http://${host}`);
    return { isValid, isKnown: takesAll || isKnown(host) };
  };
}
