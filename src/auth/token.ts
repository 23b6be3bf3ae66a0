import { hash, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import { reasonOf } from '../errors.ts';
import type { Authenticate, AuthWorld } from './authenticate.ts';
import { bearerOf, unauthenticated } from './refusal.ts';
import { parseTokenFile } from './token-file.ts';
import type { Role } from './viewer.ts';

/** How often the file is looked at while requests come, in milliseconds. */
const LOOK_EVERY_MS = 1000;

interface Entry {
  readonly name: string;
  readonly role: Role;
  readonly sha256: Buffer;
  /** On the wall clock; infinite for a token that does not run out. */
  readonly expiresAt: number;
}

/**
 * Knows callers by the tokens of a file, which is read anew when it changes, so that giving and
 * taking a token needs no restart. A new file that cannot be used changes nothing, and is
 * complained about once.
 *
 * The tokens are hashed once and fast. A slow hash is for passwords, which can be guessed; these
 * have 256 random bits, which no amount of guessing finds.
 */
export function createTokenCheck(file: string, world: AuthWorld): Authenticate {
  const tokens = new TokenFile(file, world);
  return ({ authorization }) => {
    const presented = hash('sha256', bearerOf(authorization, 'a token'), 'buffer');
    let found: Entry | undefined;
    // All are compared, each in constant time: how long it takes says nothing about any of them.
    for (const entry of tokens.current) {
      if (timingSafeEqual(entry.sha256, presented)) found = entry;
    }
    if (!found) throw unauthenticated('This token is not known here.', true);
    if (found.expiresAt <= world.clock.wall()) {
      throw unauthenticated('This token has expired.', true);
    }
    return { name: found.name, role: found.role };
  };
}

class TokenFile {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #complain: (sentence: string) => void;
  #entries: readonly Entry[] = [];
  /** What the file looked like from outside when it was last read. */
  #seen = '';
  #complained = '';
  #lookedAt: number;

  constructor(file: string, { clock, complain }: AuthWorld) {
    this.#file = file;
    this.#clock = clock;
    this.#complain = complain;
    this.#lookedAt = clock.now();
    this.#look();
  }

  get current(): readonly Entry[] {
    if (this.#clock.now() - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = this.#clock.now();
      this.#look();
    }
    return this.#entries;
  }

  #look(): void {
    try {
      const { ino, mtimeMs, size } = statSync(this.#file);
      const seen = `${ino} ${mtimeMs} ${size}`;
      if (seen === this.#seen) return;
      this.#seen = seen;
      this.#entries = parseTokenFile(readFileSync(this.#file, 'utf8')).map((token) => ({
        name: token.name,
        role: token.role,
        sha256: Buffer.from(token.sha256, 'hex'),
        expiresAt: token.expires ? Date.parse(token.expires) : Number.POSITIVE_INFINITY,
      }));
      this.#complained = '';
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === this.#complained) return;
      this.#complained = reason;
      this.#complain(
        `AUTH_TOKENS_FILE cannot be used: ${reason}. The tokens from before stay in force.`,
      );
    }
  }
}
