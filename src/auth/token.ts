import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { reasonOf } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { readTextFile } from '../text-file.ts';
import type { Authenticate, AuthWorld } from './authenticate.ts';
import { bearerOf, unauthenticated } from './refusal.ts';
import { type KnownToken, MAX_TOKEN_FILE_BYTES, parseTokenFile } from './token-file.ts';
import type { Viewer } from './viewer.ts';

/** How often the file is looked at while requests come, in milliseconds. */
const LOOK_EVERY_MS = 1000;

interface Entry {
  readonly viewer: Viewer;
  /** On the wall clock; infinite for a token that does not run out. */
  readonly expiresAt: number;
}

/** The tokens of a file by their SHA-256, in lower-case hex. */
type Entries = ReadonlyMap<string, Entry>;

/**
 * Knows callers by the tokens of a file, which is read again when it changes, so that giving and
 * taking a token needs no restart. A new file that cannot be used changes nothing, and is
 * complained about once if it stays so.
 *
 * The tokens are hashed once and fast. A slow hash is for passwords, which can be guessed; these
 * have 256 random bits, which no amount of guessing finds.
 */
export function createTokenCheck(file: string, world: AuthWorld): Authenticate {
  const tokens = new TokenFile(file, world);
  return ({ authorization }) => {
    // How long a lookup takes can depend on the digest that is looked for and on those in the file. That
    // reveals nothing about a token: none can be chosen for its digest, nor be found from it.
    const found = tokens.current.get(hash('sha256', bearerOf(authorization, 'a token')));
    if (!found) throw unauthenticated('This token is not known here.', true);
    if (found.expiresAt <= world.clock.wall()) {
      throw unauthenticated('This token has expired.', true);
    }
    return found.viewer;
  };
}

/**
 * The tokens of a file, as they were when it could last be used. It may be replaced (another inode) or
 * written in place, as a single file that is mounted into a container must be: both change what `stat`
 * returns. Who reads while it is written finds half of it, or what the next write changes within the same
 * tick of the file system's clock; so what was read is read once more at the next look.
 */
class TokenFile {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #complain: (sentence: string) => void;
  #entries: Entries = new Map();
  /** What the file looked like from outside when it was last read twice; empty while it is in doubt. */
  #settled = '';
  /** ... and when it was read once. */
  #seen = '';
  /** Why the last look failed, and whether the operator knows. */
  #failure = '';
  #complained = false;
  #lookedAt: number;

  constructor(file: string, { clock, complain }: AuthWorld) {
    this.#file = file;
    this.#clock = clock;
    this.#complain = complain;
    this.#lookedAt = clock.now();
    this.#look();
  }

  get current(): Entries {
    if (this.#clock.now() - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = this.#clock.now();
      this.#look();
    }
    return this.#entries;
  }

  #look(): void {
    try {
      const before = this.#outside();
      if (before === this.#settled) return;
      this.#settled = '';
      const entries = entriesOf(parseTokenFile(readTextFile(this.#file, MAX_TOKEN_FILE_BYTES)));
      // Written while it was read: the next look reads it again.
      if (this.#outside() !== before) return;
      this.#entries = entries;
      this.#failure = '';
      if (before === this.#seen) this.#settled = before;
      this.#seen = before;
    } catch (error) {
      this.#failed(reasonOf(error));
    }
  }

  /** What differs between two files, or one file before and after it is written. */
  #outside(): string {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(this.#file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  }

  /** One failure may be a write that is under way; a second look that finds the same is none. */
  #failed(reason: string): void {
    if (reason !== this.#failure) {
      this.#failure = reason;
      this.#complained = false;
      return;
    }
    if (this.#complained) return;
    this.#complained = true;
    this.#complain(
      `AUTH_TOKENS_FILE cannot be used: ${reason}. The tokens from before stay in force.`,
    );
  }
}

function entriesOf(tokens: readonly KnownToken[]): Entries {
  return new Map(
    tokens.map(({ name, role, sha256, expires }) => [
      sha256,
      {
        viewer: { name, role },
        expiresAt: expires ? Date.parse(expires) : Number.POSITIVE_INFINITY,
      },
    ]),
  );
}
