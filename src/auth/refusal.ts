import { GraphQLError } from 'graphql';
import { GatewayError } from '../errors.ts';

/**
 * `UNAUTHENTICATED` with status 401. `presented`: whether there was a credential at all, which a client needs
 * before it prompts its user again.
 * Implements: RFC 6750 section 3.
 */
export function unauthenticated(sentence: string, presented: boolean): GraphQLError {
  const reason = presented ? ', error="invalid_token"' : '';
  return new GraphQLError(sentence, {
    originalError: new GatewayError('UNAUTHENTICATED', sentence),
    extensions: {
      code: 'UNAUTHENTICATED',
      http: { status: 401, headers: { 'WWW-Authenticate': `Bearer realm="gateway"${reason}` } },
    },
  });
}

/**
 * The credential of an `Authorization: Bearer …` header.
 * @throws GraphQLError `UNAUTHENTICATED` if there is none.
 */
export function bearerOf(authorization: string | undefined, wanted: string): string {
  const [, token] = /^Bearer +([!-~]+) *$/i.exec(authorization ?? '') ?? [];
  if (token !== undefined) return token;
  throw unauthenticated(
    `Send ${wanted} in the header "Authorization: Bearer …".`,
    authorization !== undefined,
  );
}
