import { createSealing } from '../../../storage/sealing.ts';
import { decodeEntry, encodeEntry, type StoredEntry } from '../../../storage/stored-entry.ts';
import type { Read } from '../../request.ts';
import { identityOfRead } from '../key.ts';

/** A longer response is not saved: it would block the event loop. */
const LONGEST = 1024 * 1024;
/** A response to save. */
interface Saveable {
  readonly value: unknown;
  readonly bytes: number;
  /** When its request was granted, in milliseconds since 1970. */
  readonly storedAt: number;
  readonly generation: number;
}

/**
 * Seals what is saved of one API key of an upstream under the API key itself: the file reveals neither key nor data, and another key finds nothing in it.
 */
export class KeySealing {
  /** The scope of its cache entries. */
  readonly scope: string;
  /** Names the key in the file, equally in every process. */
  readonly print: string;
  readonly #sealing: ReturnType<typeof createSealing>;

  /** `secret` is the API key, with everything else that the meaning of a response depends on. */
  constructor(scope: string, secret: string) {
    this.scope = scope;
    this.#sealing = createSealing(secret);
    this.print = this.#sealing.fingerprint;
  }

  /** The name of the response to a read in the file, equal in every process. */
  nameOf(read: Read<unknown>): string {
    return this.#sealing.name('entry', identityOfRead(read));
  }

  /** Seals a response; `null` if it is too long. */
  sealEntry(name: string, { bytes, generation: asOf, storedAt, value }: Saveable): string | null {
    const text = encodeEntry({ storedAt, asOf, value, bytes });
    return text.length > LONGEST ? null : this.#seal(`entry ${name}`, text);
  }

  /** Opens what `sealEntry` has sealed; `null` for anything else. Never throws. */
  openEntry(name: string, sealed: string): StoredEntry | null {
    const text = this.#open(`entry ${name}`, sealed);
    return text === null ? null : decodeEntry(text);
  }

  /** Seals tags in the scope of the cache. */
  sealTags(tags: readonly string[]): string {
    const from = this.scope.length + 1;
    return this.#seal('tags', JSON.stringify(tags.map((tag) => tag.slice(from))));
  }

  /** Opens what `sealTags` has sealed; `null` for anything else. Never throws. */
  openTags(sealed: string): string[] | null {
    const text = this.#open('tags', sealed);
    if (text === null) return null;
    const tags: unknown = JSON.parse(text);
    return Array.isArray(tags) ? tags.map((tag) => `${this.scope} ${tag}`) : null;
  }

  #seal(name: string, text: string): string {
    return this.#sealing.seal(name, text).toString('base64');
  }

  #open(name: string, sealed: string): string | null {
    return this.#sealing.open(name, Buffer.from(sealed, 'base64'));
  }
}
