import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { EventStream } from '../observe/event-stream.ts';
import { jsonMembers } from './messages.ts';

/**
 * First byte of all encrypted data, and part of every key. Raised if names, keys or the layout below change, so
 * that older and newer replicas neither find nor decrypt each other's data.
 */
const FORMAT = 1;
/** Raised when what scripts store changes, or what scopes are called, so that replicas from before and after do not count side by side. */
const STATE_FORMAT = 3;
/** Of 12 bytes, as GCM wants it; at random, since several processes seal under one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** 132 bits: no two texts will ever have one name. */
const NAME_CHARACTERS = 22;
/** Raised when the members below, or the values that decoders make, change in a way that readers must notice. */
const ENTRY_FORMAT = 1;
/** Upper bound of the time that a response is stored, whatever its ttl. */
const LONGEST_MS = 86_400_000;
/** A longer response is stored only by the replica that has read it: it would block the connection. */
const MAX_BYTES = 1024 * 1024;

/** The names of an installation in Redis. All begin with one prefix, whose hash tag keeps them on one node. */
export interface RedisNames {
  /** The keys of every script: the state, and the tags with the writes that touched them last. */
  readonly keys: readonly [state: string, tags: string];
  readonly channel: string;
  /** The key of a response. */
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

/** Encrypts data in Redis, and detects data that was written without the secret. */
export interface Sealing {
  /**
   * Name of anything in Redis that must not be readable there: of an entry, a budget, a caller, a partition.
   * Equal texts of one kind have equal names on all replicas.
   */
  readonly name: (kind: string, text: string) => string;
  /** Turns a text into bytes that only holders of the secret can read, or put under this name. */
  readonly seal: (name: string, text: string) => Buffer;
  /** The data encrypted under this name; `null` for anything else. Never throws. */
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

/** A response in Redis, before encryption. Its readers determine its ttl and tags: they have the read. */
export interface StoredEntry {
  /** On the clock that all replicas share: when its request was granted. */
  readonly storedAt: number;
  /** The epoch of Redis in which it was requested. */
  readonly epoch: string;
  /** The latest write that it is known to show, counted within its epoch. */
  readonly asOf: number;
  /** The decoded response. */
  readonly value: unknown;
  /** About how many bytes it takes up in a cache. */
  readonly bytes: number;
}

interface KeptEntriesOptions {
  readonly sealing: Sealing;
  /** The key of a response. */
  readonly keyOf: (name: string) => string;
  /** See `RedisConnection`. */
  readonly connection: {
    read(names: readonly string[]): Promise<readonly (Buffer | null)[]>;
    write(name: string, value: Buffer, ttlMs: number): boolean;
  };
  /** Emits `unreadable` for everything that is there and cannot be used. */
  readonly events: EventStream;
}

/** Encrypted responses in Redis: without the secret, none can be forged or read. */
export class KeptEntries {
  readonly #options: KeptEntriesOptions;

  constructor(options: KeptEntriesOptions) {
    this.#options = options;
  }

  /** The entries by these names; `null` for one that is not there, or is not what was kept. Never rejects. */
  async find(names: readonly string[]): Promise<(StoredEntry | null)[]> {
    const { connection, keyOf } = this.#options;
    try {
      const found = await connection.read(names.map((name) => keyOf(name)));
      return names.map((name, at) => this.#open(name, found[at] ?? null));
    } catch {
      return names.map(() => null);
    }
  }

  /** Stores an entry; false if it is too large, or there is no Redis. */
  keep(name: string, entry: StoredEntry, ttlMs: number): boolean {
    const { connection, keyOf, sealing } = this.#options;
    const text = encodeEntry(entry);
    if (text.length > MAX_BYTES) return false;
    const key = keyOf(name);
    return connection.write(key, sealing.seal(key, text), Math.min(ttlMs, LONGEST_MS));
  }

  #open(name: string, sealed: Buffer | null): StoredEntry | null {
    if (!sealed) return null;
    const { events, keyOf, sealing } = this.#options;
    const text = sealing.open(keyOf(name), sealed);
    const entry = text === null ? null : decodeEntry(text);
    if (!entry) events.emit('unreadable', null);
    return entry;
  }
}

/** Writes an entry as JSON. */
export function encodeEntry(entry: StoredEntry): string {
  const { storedAt, epoch, asOf, bytes, value } = entry;
  return JSON.stringify({ format: ENTRY_FORMAT, storedAt, epoch, asOf, bytes, value });
}

/** Reads what `encodeEntry` wrote; `null` for anything else, of another format too. Never throws. */
export function decodeEntry(text: string): StoredEntry | null {
  const members = jsonMembers(text);
  if (members['format'] !== ENTRY_FORMAT || !Object.hasOwn(members, 'value')) return null;
  const { storedAt, epoch, asOf, bytes, value } = members;
  if (!isFinite(storedAt) || typeof epoch !== 'string' || epoch === '') return null;
  if (!isCount(asOf) || !isCount(bytes)) return null;
  return { storedAt, epoch, asOf, value, bytes };
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
