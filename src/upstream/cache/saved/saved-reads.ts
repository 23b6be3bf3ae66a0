import type { Credential } from '../../../auth/credential.ts';
import { BoundedMap } from '../../../bounded-map.ts';
import type { UpstreamName } from '../../../errors.ts';
import type { Answer, CacheEntry } from '../cache.ts';
import type { WriteKind } from '../generations.ts';
import { type KeyedRead, scopeOf } from '../key.ts';
import { KeySealing } from './key-sealing.ts';
import type { SavedCache } from './saved-cache.ts';

/** Maximum number of keys whose sealing is remembered. */
const MOST_KEYS = 1000;

interface SavedReadsOptions {
  readonly upstream: UpstreamName;
  readonly baseUrl: string;
  /** Of times without a zone in responses. */
  readonly timeZone: string;
  readonly saved: SavedCache;
}

/** The saved responses of one upstream. Costs no upstream request. */
export class SavedReads {
  readonly #options: SavedReadsOptions;
  /** By the scope of their cache entries. */
  readonly #sealings = new BoundedMap<KeySealing>({ max: MOST_KEYS });

  constructor(options: SavedReadsOptions) {
    this.#options = options;
  }

  /**
   * Opens the saved response to a read, for `adopt` to add it to the cache, and returns what `adopt` returns; false
   * if there is none.
   */
  recall(of: KeyedRead, adopt: (answer: Answer) => boolean): boolean {
    const { saved } = this.#options;
    if (saved.isEmpty) return false;
    const sealing = this.#sealingOf(of.credential);
    if (!saved.has(sealing)) return false;
    const name = sealing.nameOfRead(of.read);
    const answer = saved.find(sealing, name);
    if (answer && adopt(answer)) {
      saved.adopted(sealing, name);
      return true;
    }
    saved.remove(sealing, name);
    return false;
  }

  /** Whether there is nothing to recall. */
  get isEmpty(): boolean {
    return this.#options.saved.isEmpty;
  }

  /** The cache has taken the response to a request. */
  stored({ credential, key, read }: KeyedRead, entry: CacheEntry, bytes: number): void {
    const sealing = this.#sealingOf(credential);
    this.#options.saved.save({ key, entry, name: sealing.nameOfRead(read), bytes, sealing });
  }

  /** A write has affected responses with these tags. See `Generations`. */
  wrote(kind: WriteKind, tags: readonly string[], credential: Credential): void {
    this.#options.saved.wrote(kind, tags, this.#sealingOf(credential));
  }

  /** A write that can affect responses with these tags is about to be sent in a slot. */
  sends(tags: readonly string[], credential: Credential, slot: string): void {
    this.#options.saved.sends(tags, this.#sealingOf(credential), slot);
  }

  /** The request of a slot is over, or was not sent. */
  sent(credential: Credential, slot: string): void {
    this.#options.saved.sent(this.#sealingOf(credential), slot);
  }

  #sealingOf({ partition, secret }: Credential): KeySealing {
    const { baseUrl, saved, timeZone, upstream } = this.#options;
    const scope = scopeOf(upstream, partition);
    const known = this.#sealings.get(scope);
    if (known) return known;
    const sealing = new KeySealing(scope, `${baseUrl} ${timeZone} ${secret}`);
    this.#sealings.set(scope, sealing);
    saved.use(sealing);
    return sealing;
  }
}
