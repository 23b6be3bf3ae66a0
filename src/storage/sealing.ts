import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/**
 * First byte of all encrypted data, and part of every key. Raised if names, keys or the layout below change, so
 * that older and newer versions neither find nor decrypt each other's data.
 */
const SEALED_FORMAT = 1;
/** Of 12 bytes, as GCM wants it; at random, since each process seals under the same key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** 132 bits: no two texts will ever have one name. */
const NAME_CHARACTERS = 22;

/** Encrypts data in the store, and detects data that was written without the secret. */
export interface Sealing {
  /**
   * Name of anything that must not be readable where it is stored: of an entry, a budget, a caller, a partition.
   * Equal texts of one kind have equal names in all processes.
   */
  readonly name: (kind: string, text: string) => string;
  /** Turns a text into bytes that only holders of the secret can read, or put under this name. */
  readonly seal: (name: string, text: string) => Buffer;
  /** The data encrypted under this name; `null` for anything else. Never throws. */
  readonly open: (name: string, sealed: Buffer) => string | null;
}

/** Sealing under keys that are derived from a secret, one for each use. The secret must be hard to guess. */
export function createSealing(secret: string): Sealing {
  const derived = (use: string): Buffer =>
    Buffer.from(hkdfSync('sha256', secret, '', `gateway ${SEALED_FORMAT} ${use}`, 32));
  const namingKey = derived('names');
  const sealingKey = derived('entries');
  return {
    name(kind, text) {
      // With its length before it, no kind can run into its text.
      const hmac = createHmac('sha256', namingKey).update(`${kind.length} ${kind}${text}`);
      return hmac.digest('base64url').slice(0, NAME_CHARACTERS);
    },
    seal(name, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(name));
      const body = [cipher.update(text, 'utf8'), cipher.final()];
      return Buffer.concat([Buffer.of(SEALED_FORMAT), nonce, ...body, cipher.getAuthTag()]);
    },
    open(name, sealed) {
      const bodyAt = 1 + NONCE_BYTES;
      const tagAt = sealed.length - TAG_BYTES;
      if (tagAt < bodyAt || sealed[0] !== SEALED_FORMAT) return null;
      const nonce = sealed.subarray(1, bodyAt);
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv('aes-256-gcm', sealingKey, nonce, options);
      decipher.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(tagAt));
      try {
        const body = [decipher.update(sealed.subarray(bodyAt, tagAt)), decipher.final()];
        return Buffer.concat(body).toString('utf8');
      } catch {
        // Node says it by throwing: these are not the bytes that were sealed under this name.
        return null;
      }
    },
  };
}
