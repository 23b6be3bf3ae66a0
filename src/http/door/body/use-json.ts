import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { BadUserInput, GatewayError } from '../../../errors.ts';
import { isJson } from '../envelope.ts';

/**
 * Reads operations as JSON, in place of Yoga's parser, which compares content types byte by byte.
 * Implements: RFC 9110 section 8.3.1.
 */
export function useJson(): Plugin {
  return {
    onRequestParse({ request, setRequestParser }) {
      if (request.method !== 'POST' || !isJson(request.headers.get('content-type'))) return;
      setRequestParser(async (body) => {
        try {
          return await body.json();
        } catch (error) {
          if (error instanceof GraphQLError || error instanceof GatewayError) throw error;
          throw new BadUserInput('POST body sent invalid JSON.');
        }
      });
    },
  };
}
