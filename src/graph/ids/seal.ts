import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto';
import type { Credential } from '../../auth/credential.ts';

/** Bytes that authenticate a sealed text, and make equal texts equal. */
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const CIPHER = 'aes-256-ctr';

/**
 * Seals secret texts for ids, as AES-SIV does: the same text gives the same id, also after a restart,
 * and only a holder of the credential can open it. No upstream request.
 */
export class Seal {
  readonly #authentication: Buffer;
  readonly #encryption: Buffer;

  constructor({ secret }: Pick<Credential, 'secret'>) {
    const keys = Buffer.from(hkdfSync('sha256', secret, '', 'secret texts in ids', 2 * KEY_BYTES));
    this.#authentication = keys.subarray(0, KEY_BYTES);
    this.#encryption = keys.subarray(KEY_BYTES);
  }

  /** The sealed text in base64url, 22 characters and a third longer than its UTF-8. */
  seal(text: string): string {
    const tag = this.#tagOf(text);
    const cipher = createCipheriv(CIPHER, this.#encryption, tag);
    return Buffer.concat([tag, cipher.update(text), cipher.final()]).toString('base64url');
  }

  /** What was sealed; `null` if it was not sealed with this credential. */
  open(sealed: string): string | null {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < TAG_BYTES) return null;
    const tag = bytes.subarray(0, TAG_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#encryption, tag);
    const text = Buffer.concat([decipher.update(bytes.subarray(TAG_BYTES)), decipher.final()]);
    return timingSafeEqual(tag, this.#tagOf(text)) ? text.toString() : null;
  }

  #tagOf(text: string | Buffer): Buffer {
    const digest = createHmac('sha256', this.#authentication).update(text).digest();
    return digest.subarray(0, TAG_BYTES);
  }
}

/** Deriving the keys takes longer than using them. */
const seals = new WeakMap<Credential, Seal>();

/** The seal of a credential. */
export function sealOf(credential: Credential): Seal {
  const known = seals.get(credential) ?? new Seal(credential);
  seals.set(credential, known);
  return known;
}
