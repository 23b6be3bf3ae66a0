import { hash } from 'node:crypto';
import { WatchedFile } from '../storage/watched-file.ts';
import type { Authenticate, Authenticator, AuthWorld } from './authenticate.ts';
import { bearerOf, unauthenticated } from './refusal.ts';
import { type KnownToken, MAX_TOKEN_FILE_BYTES, parseTokenFile } from './token-file.ts';
import type { Viewer } from './viewer.ts';

interface TokenEntry {
  readonly viewer: Viewer;
  /** On the wall clock; infinite for a token that does not run out. */
  readonly expiresAt: number;
}

/** The tokens of a file by their SHA-256, in lower-case hex. */
type Entries = ReadonlyMap<string, TokenEntry>;

/**
 * Identifies callers by the tokens of a file, which is read again when it changes, so that creating and revoking a
 * token needs no restart. An unusable new file changes nothing, and is reported once if it stays so.
 *
 * The tokens are hashed once and fast. A slow hash is for passwords, which can be guessed; these have 256 random
 * bits.
 */
export function createTokenCheck(file: string, world: AuthWorld): Authenticator {
  const { classes } = world;
  const tokens = new WatchedFile<Entries>({
    file,
    maxBytes: MAX_TOKEN_FILE_BYTES,
    parse: (text) => entriesOf(parseTokenFile(text, classes)),
    initial: new Map(),
    clock: world.clock,
    failed: (reason) =>
      world.complain(`AUTH_TOKENS_FILE cannot be used: ${reason}. The previous tokens stay valid.`),
  });
  const isValid = ({ expiresAt }: TokenEntry): boolean => expiresAt > world.clock.wall();
  const authenticate: Authenticate = ({ authorization }) => {
    // How long a lookup takes can depend on the digest that is looked for and on those in the file. That
    // reveals nothing about a token: none can be chosen for its digest, nor be found from it.
    const found = tokens.current.get(hash('sha256', bearerOf(authorization, 'a token')));
    if (!found) throw unauthenticated('The token is unknown.', true);
    if (!isValid(found)) throw unauthenticated('The token has expired.', true);
    return found.viewer;
  };
  const named = (name: string): Viewer | null => {
    const found = [...tokens.current.values()].find(({ viewer }) => viewer.name === name);
    return found && isValid(found) ? found.viewer : null;
  };
  return Object.assign(authenticate, { named, isFileUnusable: () => tokens.isUnusable });
}

function entriesOf(tokens: readonly KnownToken[]): Entries {
  return new Map(
    tokens.map(({ name, role, sha256, class: callerClass, expires }) => [
      sha256,
      {
        viewer: { name, role, ...(callerClass === undefined ? {} : { callerClass }) },
        expiresAt: expires ? Date.parse(expires) : Number.POSITIVE_INFINITY,
      },
    ]),
  );
}
