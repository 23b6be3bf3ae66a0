import type { Credential } from '../../../auth/credential.ts';
import type { UpstreamName } from '../../../errors.ts';
import { type Clock, momentOf } from '../../../scheduling/clock.ts';
import type { Answer, CacheEntry } from '../cache.ts';
import { type KeyedRead, scopeOf } from '../key.ts';
import { KeySealing } from './key-sealing.ts';
import type { SavedCache } from './saved-cache.ts';
import type { WriteKind } from './saved-lines.ts';

interface SavedReadsOptions {
  readonly upstream: UpstreamName;
  readonly baseUrl: string;
  /** Of times without a zone in responses. */
  readonly timeZone: string;
  readonly clock: Clock;
  readonly saved: SavedCache;
}

/** The saved responses of one upstream. Costs no upstream request. */
export class SavedReads {
  readonly #options: SavedReadsOptions;
  /** Keys without saved responses. */
  readonly #without = new WeakSet<Credential>();

  constructor(options: SavedReadsOptions) {
    this.#options = options;
  }

  /**
   * Opens the saved response to a read, for `adopt` to add it to the cache, and returns what `adopt` returns; false
   * if there is none.
   */
  recall(of: KeyedRead, adopt: (answer: Answer) => boolean): boolean {
    const { clock, saved } = this.#options;
    if (this.isEmpty) return false;
    const sealing = this.#sealingIfSaved(of.credential);
    if (!sealing) return false;
    const name = sealing.nameOf(of.read);
    const found = saved.find(sealing, name);
    if (!found) return false;
    const { now, wall } = momentOf(clock);
    const opened = found.until > wall ? sealing.openEntry(name, found.sealed) : null;
    const isUsable = opened && opened.storedAt <= wall && opened.asOf === found.generation;
    const stamp = {
      storedAt: now - (wall - (opened?.storedAt ?? 0)),
      generation: found.generation,
    };
    if (isUsable && adopt({ value: opened.value, bytes: opened.bytes, stamp })) return true;
    saved.remove(sealing, name);
    return false;
  }

  /** Whether there is nothing to recall. */
  get isEmpty(): boolean {
    return this.#options.saved.isEmpty;
  }

  /** The cache has taken the response to a request. */
  stored(of: KeyedRead, entry: CacheEntry, bytes: number): void {
    const sealing = this.#sealingOf(of.credential);
    this.#options.saved.save(of.key, entry, { sealing, name: sealing.nameOf(of.read), bytes });
  }

  /** A write has affected responses with these tags, in the scope of the cache. See `Generations`. */
  wrote(kind: WriteKind, tags: readonly string[], credential: Credential, permit?: string): void {
    this.#options.saved.wrote(kind, tags, this.#sealingOf(credential), permit);
  }

  /** A write that can affect responses with these tags is about to be sent. */
  sends(tags: readonly string[], credential: Credential, permit: string): void {
    this.#options.saved.sends(tags, this.#sealingOf(credential), permit);
  }

  /** The write of a permit was not sent, or has had no effect. */
  unsent(credential: Credential, permit: string): void {
    this.#options.saved.unsent(this.#sealingOf(credential), permit);
  }

  /** Whether the process before has saved responses that this key can open. */
  has(credential: Credential): boolean {
    return this.#options.saved.has(this.#newSealing(credential));
  }

  #sealingOf(credential: Credential): KeySealing {
    const { saved, upstream } = this.#options;
    const known = saved.sealingOf(scopeOf(upstream, credential.partition));
    if (known) return known;
    const sealing = this.#newSealing(credential);
    saved.use(sealing);
    return sealing;
  }

  /** The same; undefined for a key that has saved nothing, of which there can be any number. */
  #sealingIfSaved(credential: Credential): KeySealing | undefined {
    const { saved, upstream } = this.#options;
    const known = saved.sealingOf(scopeOf(upstream, credential.partition));
    if (known || this.#without.has(credential)) return known;
    const sealing = this.#newSealing(credential);
    if (!saved.has(sealing)) {
      this.#without.add(credential);
      return undefined;
    }
    saved.use(sealing);
    return sealing;
  }

  #newSealing({ partition, secret }: Credential): KeySealing {
    const { baseUrl, timeZone, upstream } = this.#options;
    return new KeySealing(scopeOf(upstream, partition), `${baseUrl} ${timeZone} ${secret}`);
  }
}
