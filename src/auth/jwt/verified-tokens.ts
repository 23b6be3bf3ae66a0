import { BoundedMap } from '../../bounded-map.ts';
import { createLocalDigest, type Digest } from '../../digest.ts';
import type { Viewer } from '../viewer.ts';

/** What the verification of a token found. The token itself is not part of it. */
export interface VerifiedToken {
  readonly viewer: Viewer;
  /** When it was verified, on `clock.now()`. */
  readonly verifiedAt: number;
  /** Its `nbf`, in seconds since the epoch; -Infinity if missing. */
  readonly notBefore: number;
  /** Its `exp`, in seconds since the epoch. */
  readonly expires: number;
}

/** What all entries may take, in bytes: some thirteen thousand tokens. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Memory of one entry besides the caller's name, measured: its digest, the maps' own records, the objects. */
const BYTES_PER_TOKEN = 600;
/** Tokens of one caller: more than the processes of a service have, and less than a tenth of all. */
const MAX_PER_CALLER = 1000;

/**
 * The verified tokens, by their keyed digests: a copy of this memory gives no access. It is bounded in bytes, and
 * in tokens per caller, so that one caller cannot displace those of all others. A removed token is verified again.
 * Invalid tokens are not kept, because their number is unlimited.
 */
export class VerifiedTokens {
  /** The digest by which a token is kept here. */
  readonly digest: Digest = createLocalDigest();
  readonly #tokens = new BoundedMap<VerifiedToken>({
    max: MAX_BYTES,
    weigh: (_, { viewer }) => BYTES_PER_TOKEN + 2 * viewer.name.length,
    onForget: (digest, { viewer }) => this.#unlist(digest, viewer.name),
  });
  /** The digests of each caller, that of the token verified first at the front. */
  readonly #callers = new Map<string, Set<string>>();

  /** What is known of the token with this digest. */
  get(digest: string): VerifiedToken | undefined {
    return this.#tokens.get(digest);
  }

  /** Keeps what the verification of a token found. */
  set(digest: string, token: VerifiedToken): void {
    const { name } = token.viewer;
    const digests = this.#callers.get(name) ?? new Set<string>();
    this.#callers.set(name, digests.add(digest));
    const [first] = digests;
    if (digests.size > MAX_PER_CALLER && first !== undefined) this.#tokens.delete(first);
    this.#tokens.set(digest, token);
  }

  /** Removes a token that is no longer valid. */
  delete(digest: string): void {
    this.#tokens.delete(digest);
  }

  #unlist(digest: string, name: string): void {
    const digests = this.#callers.get(name);
    if (digests?.delete(digest) && digests.size === 0) this.#callers.delete(name);
  }
}
