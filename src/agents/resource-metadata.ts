import type { IncomingMessage } from 'node:http';
import type { Handler, Routes } from '../http/door/route.ts';
import { isReading, jsonAnswer, respond } from '../http/respond.ts';

/** Where clients of `/mcp` find the identity provider. */
const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/**
 * Says which identity provider issues the tokens for `/mcp`. It is public, costs no upstream request, and names the URL
 * by which it was requested: behind a proxy, with the scheme of `X-Forwarded-Proto`.
 * Implements: RFC 9728 sections 2 and 3.
 */
export function metadataRoute(issuer: string): Routes {
  const answer: Handler = (request, response, admission) => {
    if (request.method === 'OPTIONS') {
      respond(response, { status: 204, headers: admission.preflightHeaders('GET') });
    } else if (isReading(request, response, ', OPTIONS')) {
      const metadata = {
        resource: `${originOf(request)}/mcp`,
        authorization_servers: [issuer],
        bearer_methods_supported: ['header'],
      };
      respond(response, { ...jsonAnswer(200, metadata), vary: 'Host, X-Forwarded-Proto' });
    }
  };
  return { [METADATA_PATH]: { answer, audience: 'callers' } };
}

/** The parameter of a challenge that names the metadata. Implements: RFC 9728 section 5.1. */
export function challengeOf(request: IncomingMessage): string {
  return `resource_metadata="${originOf(request)}${METADATA_PATH}"`;
}

function originOf({ headers }: IncomingMessage): string {
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  const url = `${scheme}://${headers.host ?? 'localhost'}`;
  // A host that is no host cannot have been requested by a client that reads this.
  return URL.canParse(url) ? new URL(url).origin : `${scheme}://localhost`;
}
