import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/**
 * First byte of whatever is sealed, and part of every key. Raised when names, keys or the layout below
 * change, so that replicas from before and after neither find nor open what the others keep.
 */
const FORMAT = 1;
/** Raised when what scripts store changes, so that replicas from before and after do not count side by side. */
const STATE_FORMAT = 2;
/** Of 12 bytes, as GCM wants it; at random, since several processes seal under one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** 132 bits: no two texts will ever have one name. */
const NAME_CHARACTERS = 22;

/** What an installation calls its things in Redis. All begin with one prefix, whose hash tag keeps them on one node. */
export interface RedisNames {
  /** The keys of every script: the state, and the tags with the writes that touched them last. */
  readonly keys: readonly [state: string, tags: string];
  readonly channel: string;
  /** The key that an answer is kept by. */
  readonly entry: (name: string) => string;
}

/** The names of an installation with this `REDIS_PREFIX`. */
export function redisNames(prefix: string): RedisNames {
  const base = `{${prefix}:${FORMAT}}`;
  return {
    keys: [`${base}:state`, `${base}:tags`],
    channel: `${base}:ch`,
    entry: (name) => `${base}:e:${name}`,
  };
}

/** Hides what stands in Redis from its readers, and detects what was written there without the secret. */
export interface Sealing {
  /**
   * Name of anything in Redis that must not be readable there: of an entry, a budget, a caller, a partition.
   * Equal texts of one kind have equal names on all replicas.
   */
  readonly name: (kind: string, text: string) => string;
  /** Turns a text into bytes that only holders of the secret can read, or put under this name. */
  readonly seal: (name: string, text: string) => Buffer;
  /** What was sealed under this name; `null` for anything else, whatever it is. Never throws. */
  readonly open: (name: string, sealed: Buffer) => string | null;
  /** Of secret and format: equal on replicas that understand each other. Reveals nothing of the secret. */
  readonly fingerprint: string;
}

/** Sealing under keys that are derived from a secret, one for each use. The secret must be hard to guess. */
export function createSealing(secret: string): Sealing {
  const derived = (use: string): Buffer =>
    Buffer.from(hkdfSync('sha256', secret, '', `gateway ${FORMAT} ${use}`, 32));
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
      return Buffer.concat([Buffer.of(FORMAT), nonce, ...body, cipher.getAuthTag()]);
    },
    open(name, sealed) {
      const bodyAt = 1 + NONCE_BYTES;
      const tagAt = sealed.length - TAG_BYTES;
      if (tagAt < bodyAt || sealed[0] !== FORMAT) return null;
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
    fingerprint: derived(`fingerprint ${STATE_FORMAT}`)
      .toString('base64url')
      .slice(0, NAME_CHARACTERS),
  };
}
