import type { Plugin } from 'graphql-yoga';
import { acceptedJson, qualityOf } from '../../http/door/headers/accept.ts';

/** Every type that an answer can have. JSON of either kind is asked about by `acceptedJson`. */
const OTHER_TYPES = ['multipart/mixed', 'text/event-stream'] as const;

const BODY = JSON.stringify({
  errors: [
    {
      message: 'Accept application/json or application/graphql-response+json.',
      extensions: { code: 'BAD_USER_INPUT' },
    },
  ],
});

/**
 * Answers 406 to a client that accepts no type in which an operation is answered, before the operation is read:
 * Yoga negotiates only once it was executed. 0 upstream calls.
 * Implements: RFC 9110 section 15.5.7.
 */
export function useAcceptable(): Plugin {
  return {
    onRequest(payload) {
      const { fetchAPI, request } = payload;
      const accept = request.headers.get('accept');
      if (request.method === 'OPTIONS' || acceptedJson(accept).quality > 0) return;
      if (OTHER_TYPES.some((type) => qualityOf(accept, type) > 0)) return;
      const headers = { 'Content-Type': 'application/json; charset=utf-8' };
      payload.endResponse(new fetchAPI.Response(BODY, { status: 406, headers }));
    },
  };
}
