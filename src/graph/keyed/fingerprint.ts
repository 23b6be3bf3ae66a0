import { createHash, createHmac, type Hmac, hkdfSync } from 'node:crypto';
import type { Credential } from '../../auth/credential.ts';
import { loopTurns } from '../../scheduling/loop-turns.ts';
import type { Fingerprint } from '../../upstream/idempotency/idempotency-key.ts';

const KEY_BYTES = 32;
const NAME_BYTES = 9;
/** Bytes of a file, and characters of a text, that are hashed before other work may run. */
const PIECE = 256 * 1024;
const TEXT_PIECE = 16 * 1024;

/** A file, as far as its fingerprint uses it. */
interface ReadableFile {
  arrayBuffer(): Promise<ArrayBuffer>;
}

/**
 * Makes fingerprints of inputs: equal inputs have equal ones, and without the credential nothing of an input can be
 * guessed from them. The secret is derived from the credential, so it is the same after a restart.
 */
export class Fingerprints {
  /** Names the secret. It reveals nothing about the credential, and identifies it. */
  readonly secret: string;
  readonly #key: Buffer;

  constructor({ secret }: Pick<Credential, 'secret'>) {
    const derived = hkdfSync(
      'sha256',
      secret,
      '',
      'idempotency fingerprints',
      KEY_BYTES + NAME_BYTES,
    );
    const bytes = Buffer.from(derived);
    this.#key = bytes.subarray(0, KEY_BYTES);
    this.secret = bytes.subarray(KEY_BYTES).toString('base64url');
  }

  /**
   * The fingerprint of a mutation with its coerced arguments. A large input is hashed in several turns of the event
   * loop; `owner` is charged for them.
   */
  async of(mutation: string, input: unknown, owner: string): Promise<Fingerprint> {
    const hmac = createHmac('sha256', this.#key);
    let text = '';
    for (const part of canonical([mutation, input])) {
      if (typeof part === 'string') text += part;
      else text += await fileText(part, owner);
      if (text.length < TEXT_PIECE) continue;
      text = flush(hmac, text);
      await loopTurns.pause(owner);
    }
    flush(hmac, text);
    return { secret: this.secret, digest: hmac.digest('base64url') };
  }
}

function flush(hmac: Hmac, text: string): '' {
  hmac.update(text);
  return '';
}

/**
 * Parts of the canonical JSON of a value: members sorted by name, those that are undefined left out. A file is a part
 * of its own. Members without members are joined, because a part costs more than they do.
 */
function* canonical(value: unknown): Generator<string | ReadableFile> {
  if (typeof value !== 'object' || value === null) {
    yield JSON.stringify(value);
    return;
  }
  if (isFile(value)) {
    yield value;
    return;
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  let text = open ?? '';
  let separator = '';
  for (const [prefix, item] of itemsOf(value)) {
    text += separator + prefix;
    separator = ',';
    if (typeof item !== 'object' || item === null) {
      text += JSON.stringify(item);
      continue;
    }
    yield text;
    text = '';
    yield* canonical(item);
  }
  yield text + close;
}

/** The items of a list, or the members of an object by name, each with the text before it. */
function itemsOf(value: object): readonly (readonly [prefix: string, item: unknown])[] {
  if (Array.isArray(value)) return value.map((item: unknown) => ['', item]);
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members).filter((name) => members[name] !== undefined);
  return names.sort().map((name) => [`${JSON.stringify(name)}:`, members[name]]);
}

function isFile(value: object): value is ReadableFile {
  // JSON can have a member of this name, but no function.
  return 'arrayBuffer' in value && typeof value.arrayBuffer === 'function';
}

/** A file by its length and its SHA-256, as no JSON begins. */
async function fileText(file: ReadableFile, owner: string): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const digest = createHash('sha256');
  for (let at = 0; at < bytes.length; at += PIECE) {
    digest.update(bytes.subarray(at, at + PIECE));
    await loopTurns.pause(owner);
  }
  return `<${bytes.length} ${digest.digest('base64url')}>`;
}

/** Deriving a secret takes longer than using it. */
const known = new WeakMap<Credential, Fingerprints>();

/** The fingerprints of a credential. */
export function fingerprintsOf(credential: Credential): Fingerprints {
  const fingerprints = known.get(credential) ?? new Fingerprints(credential);
  known.set(credential, fingerprints);
  return fingerprints;
}
