import type { UpstreamName } from '../../errors.ts';
import type { SwapMoment } from '../../redis/shared-document.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Stamp } from '../request.ts';
import { type Generations, type TouchListener, untouched, type Validity } from './generations.ts';
import { scopedTags, scopeOfKey } from './key.ts';

/** Informs lists of writes on other replicas; returns additional tags. See `Lists.touchedElsewhere`. */
export type TouchedElsewhere = (partition: string, tags: readonly string[]) => readonly string[];

/** The state of the other replicas: see `Replica`. */
interface KnownReplicas {
  /** Whether every confirmed write of all replicas is known here. */
  readonly leased: boolean;
  /** Age of the shared data in Redis, in milliseconds. */
  readonly epochAgeMs: number;
  /** Identifies the current shared data. */
  readonly epoch: string;
  /** Converts a time on the clock of all replicas to `clock.now()`. */
  toLocal(shared: number): number;
}

interface SharedGenerationsOptions {
  readonly clock: Clock;
  readonly replica: KnownReplicas;
  /**
   * If uncertain responses may not be served: time in milliseconds before responses from before a loss of data are
   * served again.
   */
  readonly suspectAfterMs: number;
  /** How to treat unconfirmed responses: serve them as stale, or not at all. */
  readonly unconfirmed: 'stale' | 'refuse';
  /**
   * Announces a write to all replicas, and resolves when none of them serves the earlier state. Calls `told` when the
   * write has a number. Never rejects.
   */
  readonly tell: (
    tags: readonly string[],
    permit: string | undefined,
    told: (n: number) => void,
  ) => Promise<void>;
}

/** Suffix of a tag in a doubt, so that Redis numbers doubts like writes. */
const DOUBT = ' ?';

/** The tags by which replicas share writes with an unknown outcome. */
export function doubtsOf(tags: readonly string[]): string[] {
  return tags.map((tag) => tag + DOUBT);
}

/** Maximum number of remembered tags, including those of earlier epochs. Redis remembers half as many. */
const TAGS_REMEMBERED = 20_000;

/**
 * The known writes of all replicas. They are numbered within an epoch of the shared data; here, the numbers of each
 * epoch continue those of the previous one.
 */
export class SharedGenerations implements Generations {
  readonly #options: SharedGenerationsOptions;
  readonly #touched = new Map<string, number>();
  readonly #doubted = new Map<string, number>();
  /** Number of writes of this process, by tag, that have no number yet. */
  readonly #untold = new Map<string, number>();
  readonly #listeners = new Map<string, TouchedElsewhere>();
  readonly #touchListeners: TouchListener[] = [];
  /** The first number of this epoch. Earlier responses are suspect. */
  #base = 0;
  #latest = 0;
  #floor = 0;
  #shifts = 0;
  #wasLeased = false;

  constructor(options: SharedGenerationsOptions) {
    this.#options = options;
  }

  get latest(): number {
    return this.#latest;
  }

  get shifts(): number {
    const { leased } = this.#options.replica;
    if (leased !== this.#wasLeased) {
      this.#wasLeased = leased;
      this.#shifts += 1;
    }
    return this.#shifts;
  }

  /** The generation of responses requested at write number `n` of this epoch. */
  generationOf(n: number): number {
    return this.#base + n;
  }

  /** Whether a response that includes all writes up to number `asOf` of this epoch is valid for some tags. */
  shows(tags: readonly string[], asOf: number): boolean {
    return this.holds(tags, this.generationOf(asOf));
  }

  holds(tags: readonly string[], generation: number): boolean {
    return !this.#isInvalid(tags, generation) && !this.#isDoubtful(tags, generation);
  }

  validity(tags: readonly string[], generation: number): Validity {
    if (this.#isInvalid(tags, generation)) return 'invalid';
    const { replica, suspectAfterMs, unconfirmed } = this.#options;
    const mayShow = unconfirmed === 'stale';
    if (generation < this.#base) {
      // Replicas that wrote just before the loss of data first announce these writes again.
      return mayShow || replica.epochAgeMs >= suspectAfterMs ? 'fallback-only' : 'hidden';
    }
    const { leased } = replica;
    if (!leased && !mayShow) return 'hidden';
    if (this.#isDoubtful(tags, generation)) return 'fallback-only';
    return leased ? 'valid' : 'unconfirmed';
  }

  #isInvalid(tags: readonly string[], generation: number): boolean {
    if (generation < this.#floor) return true;
    if (this.#untold.size > 0 && tags.some((tag) => this.#untold.has(tag))) return true;
    return this.#touched.size > 0 && !untouched(tags, generation, this.#touched);
  }

  #isDoubtful(tags: readonly string[], generation: number): boolean {
    if (this.#untold.size > 0 && doubtsOf(tags).some((doubt) => this.#untold.has(doubt))) {
      return true;
    }
    return this.#doubted.size > 0 && !untouched(tags, generation, this.#doubted);
  }

  async touch(tags: readonly string[], permit?: string): Promise<void> {
    this.#shifts += 1;
    for (const tag of tags) this.#untold.set(tag, (this.#untold.get(tag) ?? 0) + 1);
    this.#tellTouched(tags);
    let isTold = false;
    await this.#options.tell(tags, permit, (n) => {
      const news = this.#apply(tags.map((tag) => [tag, n] as const));
      if (!isTold) {
        isTold = true;
        for (const tag of tags) {
          const others = (this.#untold.get(tag) ?? 1) - 1;
          if (others > 0) this.#untold.set(tag, others);
          else this.#untold.delete(tag);
        }
      }
      this.#tellTouched(news && [...tags, ...news]);
    });
  }

  doubt(tags: readonly string[], permit?: string): Promise<void> {
    return this.touch(doubtsOf(tags), permit);
  }

  onTouch(listener: TouchListener): void {
    this.#touchListeners.push(listener);
  }

  /** Informs the lists of an upstream of writes on other replicas. */
  listen(upstream: UpstreamName, touchedElsewhere: TouchedElsewhere): void {
    this.#listeners.set(upstream, touchedElsewhere);
  }

  /** The stamp of a response whose request got its slot at that moment. */
  stampOf({ epoch, n, sharedAt }: SwapMoment): Stamp {
    const { clock, replica } = this.#options;
    return {
      storedAt: Math.min(replica.toLocal(sharedAt), clock.now()),
      // Responses requested in an earlier epoch are suspect from the start.
      generation: epoch === replica.epoch ? this.#base + n : this.#base - 1,
      shared: { at: sharedAt, epoch, asOf: n },
    };
  }

  /**
   * Records writes of this epoch: all up to number `n` are known now, and not all replicas remember writes before number
   * `low`.
   */
  apply(
    touches: readonly (readonly [tag: string, n: number])[],
    { low, n }: { readonly low: number; readonly n: number },
  ): void {
    this.#latest = Math.max(this.#latest, this.#base + n);
    const isLower = low > 0 && this.#base + low > this.#floor;
    if (isLower) {
      this.#floor = this.#base + low;
      this.#shifts += 1;
    }
    const news = this.#apply(touches);
    this.#tellTouched(isLower ? null : news);
  }

  /**
   * Returns the tags of outdated responses, or null if the list is incomplete. No tag is notified twice; a tag
   * that a write of this process still invalidates is notified when the write has its number.
   */
  #apply(touches: readonly (readonly [tag: string, n: number])[]): readonly string[] | null {
    if (touches.length === 0) return [];
    this.#shifts += 1;
    const latest = Math.max(...touches.map(([, n]) => n));
    // Read before its source is outdated.
    const also = this.#alsoTouched(touches.map(([tag]) => tag));
    const raised = [...touches, ...also.map((tag) => [tag, latest] as const)];
    const news = raised.filter(([tag, n]) => this.#raise(tag, n) && !this.#untold.has(tag));
    if (this.#touched.size + this.#doubted.size > TAGS_REMEMBERED) {
      this.#forget();
      return null;
    }
    return news.map(([tag]) => tag);
  }

  #tellTouched(tags: readonly string[] | null): void {
    if (tags?.length === 0) return;
    const plain = tags && tags.map(plainTag);
    for (const listener of this.#touchListeners) listener(plain);
  }

  /** The shared data was lost, and numbers start again. */
  beginEpoch(): void {
    this.#base = this.#latest + 1;
    this.#latest = this.#base;
    this.#shifts += 1;
    this.#tellTouched(null);
  }

  /**
   * Additional tags that writes on other replicas affect, by the lists that are cached here; doubts for doubts.
   */
  #alsoTouched(tags: readonly string[]): string[] {
    const certain = tags.filter((tag) => !isDoubt(tag));
    const doubtful = tags.filter(isDoubt).map(plainTag);
    return [...this.#seenWith(certain), ...doubtsOf(this.#seenWith(doubtful))];
  }

  #seenWith(tags: readonly string[]): string[] {
    const byScope = new Map<string, string[]>();
    for (const tag of tags) {
      const scope = scopeOfKey(tag);
      byScope.set(scope, [...(byScope.get(scope) ?? []), tag.slice(scope.length + 1)]);
    }
    return [...byScope].flatMap(([scope, plain]) => {
      const [upstream = '', partition = ''] = scope.split(':', 2);
      const listener = this.#listeners.get(upstream);
      return listener ? scopedTags(scope, listener(partition, plain)) : [];
    });
  }

  /** Whether that is new. */
  #raise(tag: string, n: number): boolean {
    const generation = this.#base + n;
    this.#latest = Math.max(this.#latest, generation);
    const latest = isDoubt(tag) ? this.#doubted : this.#touched;
    const plain = plainTag(tag);
    if ((latest.get(plain) ?? 0) >= generation) return false;
    latest.set(plain, generation);
    return true;
  }

  /** Removes the older half, and every response that it could have made invalid or doubtful. */
  #forget(): void {
    const both = [this.#touched, this.#doubted];
    const numbers = both.flatMap((latest) => [...latest.values()]).sort((a, b) => a - b);
    this.#floor = Math.max(this.#floor, numbers[Math.floor(numbers.length / 2)] ?? 0);
    for (const latest of both) {
      for (const [tag, generation] of latest) {
        if (generation <= this.#floor) latest.delete(tag);
      }
    }
  }
}

function isDoubt(tag: string): boolean {
  return tag.endsWith(DOUBT);
}

function plainTag(tag: string): string {
  return isDoubt(tag) ? tag.slice(0, -DOUBT.length) : tag;
}
