import type { AuthConfig, JwtConfig } from '../auth/authenticate.ts';
import type { CallerClasses } from '../auth/caller-class.ts';
import { MAX_TOKEN_FILE_BYTES, parseTokenFile } from '../auth/token-file.ts';
import { reasonOf } from '../errors.ts';
import type { EnvironmentReader, ReadFile } from './environment.ts';

/** Settings without a default that mean something in one mode only. */
const modeOf: Readonly<Record<string, AuthConfig['mode']>> = {
  AUTH_TOKENS_FILE: 'token',
  AUTH_JWT_JWKS_URL: 'jwt',
  AUTH_JWT_SECRET: 'jwt',
  AUTH_JWT_SECRET_FILE: 'jwt',
  AUTH_JWT_ISSUER: 'jwt',
  AUTH_JWT_AUDIENCE: 'jwt',
  AUTH_JWT_CLASS_CLAIM: 'jwt',
};

/** An HS256 secret shorter than its hash can be guessed from one token (RFC 7518 section 3.2). */
const MIN_SECRET_LENGTH = 32;

/**
 * Reads how callers authenticate. On the sandbox a missing mode means `none`, also in a container that
 * listens on every address, since its data is made up. A real account needs an explicit `none`. `classes` are those
 * that a token may have; undefined if they cannot be read.
 */
export function readAuth(
  reader: EnvironmentReader,
  sandbox: boolean,
  readFile: ReadFile,
  classes: CallerClasses | undefined,
): AuthConfig {
  const mode = reader.optionalChoice('AUTH_MODE');
  if (mode === null && !sandbox && !reader.has('AUTH_MODE')) {
    reader.fault(
      'AUTH_MODE is not set, but a real API is configured: all clients that reach this port could read and write with your API key. Set AUTH_MODE=token, jwt or passthrough, or AUTH_MODE=none if only trusted clients can reach it.',
    );
  }
  for (const [name, wanted] of Object.entries(modeOf)) {
    // Otherwise an operator who sets the file but not the mode would run an open gateway.
    if (reader.has(name) && wanted !== mode) {
      reader.fault(
        `${name} is set, but AUTH_MODE is not ${wanted}. Set AUTH_MODE=${wanted}, or remove ${name}.`,
      );
    }
  }
  switch (mode) {
    case 'token':
      return { mode, file: readTokensFile(reader, readFile, classes) };
    case 'jwt':
      return readJwt(reader);
    case 'passthrough':
      return { mode };
    default:
      return { mode: 'none' };
  }
}

function readTokensFile(
  reader: EnvironmentReader,
  readFile: ReadFile,
  classes: CallerClasses | undefined,
): string {
  const file = reader.text('AUTH_TOKENS_FILE');
  if (file === '') {
    reader.fault(
      'AUTH_MODE=token requires AUTH_TOKENS_FILE. Create a file with `links-market-gateway token --name web --role viewer --file tokens.json`, and set AUTH_TOKENS_FILE=tokens.json.',
    );
    return file;
  }
  try {
    parseTokenFile(readFile(file, MAX_TOKEN_FILE_BYTES), classes);
  } catch (error) {
    reader.fault(
      `AUTH_TOKENS_FILE cannot be used (${reasonOf(error)}). Set it to a file created by \`links-market-gateway token\` that this process may read.`,
    );
  }
  return file;
}

function readJwt(reader: EnvironmentReader): JwtConfig {
  const jwksUrl = reader.url('AUTH_JWT_JWKS_URL');
  const secret = reader.secret('AUTH_JWT_SECRET');
  const hasSecret = reader.has('AUTH_JWT_SECRET') || reader.has('AUTH_JWT_SECRET_FILE');
  if (reader.has('AUTH_JWT_JWKS_URL') === hasSecret) {
    reader.fault(
      'AUTH_MODE=jwt requires the keys that verify tokens. Set either AUTH_JWT_JWKS_URL or AUTH_JWT_SECRET (or AUTH_JWT_SECRET_FILE), not both.',
    );
  }
  if (secret !== null && secret.length < MIN_SECRET_LENGTH) {
    reader.fault(
      `AUTH_JWT_SECRET is shorter than ${MIN_SECRET_LENGTH} characters and can be guessed from a token. Set a longer one, here and at the identity provider.`,
    );
  }
  for (const name of ['AUTH_JWT_ISSUER', 'AUTH_JWT_AUDIENCE']) {
    if (!reader.has(name)) {
      reader.fault(
        `AUTH_MODE=jwt requires ${name}: without it, tokens for other services would be accepted. Set it to the value in the tokens.`,
      );
    }
  }
  return {
    mode: 'jwt',
    keys: secret === null ? { jwksUrl: jwksUrl ?? '' } : { secret },
    issuer: reader.text('AUTH_JWT_ISSUER'),
    audience: reader.text('AUTH_JWT_AUDIENCE'),
    rolesClaim: reader.text('AUTH_JWT_ROLES_CLAIM'),
    classClaim: reader.text('AUTH_JWT_CLASS_CLAIM'),
  };
}
