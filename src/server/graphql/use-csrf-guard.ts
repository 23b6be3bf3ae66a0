import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention';
import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';

/** Any of these makes a browser ask first (a preflight), so a request that has one was allowed to come. */
const preflightHeaders = ['x-graphql-yoga-csrf', 'apollo-require-preflight'];

/**
 * Refuses, with `FORBIDDEN`, what a page of another origin can send without asking: a POST as a form or
 * plain text, and a GET that a browser marks as cross-site. A query changes nothing, but it spends the
 * upstream's rate limit. Tools that are no browsers send no such mark and may GET freely.
 */
export function useCsrfGuard(allowedOrigins: readonly string[]): Plugin {
  const library = useCSRFPrevention({ requestHeaders: preflightHeaders });
  return {
    onRequestParse(payload) {
      const { headers, method } = payload.request;
      if (method !== 'GET') {
        try {
          return library.onRequestParse?.(payload);
        } catch (cause) {
          throw new GatewayError(
            'FORBIDDEN',
            'Send the operation as "Content-Type: application/json", or add the header "Apollo-Require-Preflight: true".',
            { cause },
          );
        }
      }
      const site = headers.get('sec-fetch-site');
      const foreign = site === 'cross-site' || site === 'same-site';
      if (foreign && !allowedOrigins.includes(headers.get('origin') ?? '')) {
        throw new GatewayError('FORBIDDEN', 'Pages of this origin may not call the gateway.');
      }
      return undefined;
    },
  };
}
