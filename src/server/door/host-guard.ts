import { isIP } from 'node:net';

/** Whether a request may come under the name in its `Host` header. */
export type HostGuard = (host: string | undefined) => boolean;

/**
 * Keeps a page in the browser of someone on this machine from asking in their place: such a page has the
 * name of its own server made to point here, and so the browser takes the gateway for that server.
 * Only a name can be made to point somewhere, so addresses always pass. `null` when no guard is
 * needed: who listens beyond this machine cannot know its names, unless it is told.
 */
export function createHostGuard(listensOn: string, allowed: readonly string[]): HostGuard | null {
  const loopback = /^(localhost|127\.[\d.]+|::1)$/i.test(listensOn);
  if (!loopback && allowed.length === 0) return null;
  const names = new Set(['localhost', ...allowed.map((name) => name.toLowerCase())]);
  return (host) => {
    // Programs may leave it out; no browser does.
    if (host === undefined) return true;
    const name = host
      .replace(/:\d*$/, '')
      .replace(/^\[|\]$/g, '')
      .toLowerCase();
    return names.has(name) || isIP(name) !== 0;
  };
}
