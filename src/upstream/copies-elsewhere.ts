import type { Credential } from '../auth/credential.ts';
import type { Resource } from '../resources.ts';
import type { Cache, Freshness } from './cache/cache.ts';
import type { Found, SharedAnswers } from './cache/shared-answers.ts';
import type { Copies } from './copies.ts';
import type { Read } from './request.ts';

interface CopiesElsewhereOptions {
  readonly cache: Cache;
  readonly copies: Copies;
  readonly answers: SharedAnswers;
  readonly freshness: (resource: Resource) => Freshness;
}

/** A read whose answer may be with other replicas. */
interface Sought {
  readonly read: Read<unknown>;
  readonly key: string;
  readonly credential: Credential;
}

/** What is looked for in one round trip. */
interface Round {
  readonly sought: Map<string, Sought>;
  readonly found: Promise<void>;
}

/** The copies that other replicas have, and how they come here. Costs no upstream call. */
export class CopiesElsewhere {
  readonly #options: CopiesElsewhereOptions;
  /** Those that are being looked for, by key. */
  readonly #looking = new Map<string, Promise<void>>();
  /** What the next round trip looks for. */
  #next: Round | null = null;

  constructor(options: CopiesElsewhereOptions) {
    this.#options = options;
  }

  /** What a read is called on all replicas. */
  nameOf({ key, credential }: Pick<Sought, 'key' | 'credential'>): string {
    return this.#options.answers.nameOf(key, credential.secret);
  }

  /**
   * Brings what other replicas have read since it was read here, if it still holds: one round trip for all that
   * is sought in one turn. Never rejects.
   */
  bring(sought: Sought): Promise<void> {
    const looking = this.#looking.get(sought.key);
    if (looking) return looking;
    this.#next ??= this.#begin();
    this.#next.sought.set(sought.key, sought);
    const found = this.#next.found.finally(() => this.#looking.delete(sought.key));
    this.#looking.set(sought.key, found);
    return found;
  }

  /** The same for several. */
  async bringAll(sought: readonly Sought[]): Promise<void> {
    await Promise.all(sought.map((each) => this.bring(each)));
  }

  /** Keeps the answer to a read for other replicas; false when it cannot be. */
  keep({ read, ...of }: Sought, found: Found): boolean {
    const { answers, freshness } = this.#options;
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness(read.resource);
    return answers.keep(this.nameOf(of), found, ttlMs + staleWhileRevalidateMs + staleIfErrorMs);
  }

  #begin(): Round {
    const sought = new Map<string, Sought>();
    const found = Promise.resolve().then(() => {
      this.#next = null;
      return this.#find([...sought.values()]);
    });
    return { sought, found };
  }

  async #find(sought: readonly Sought[]): Promise<void> {
    const { answers, cache, copies } = this.#options;
    const found = await answers.find(sought.map((each) => this.nameOf(each)));
    for (const [at, { key, read }] of sought.entries()) {
      const answer = found[at];
      const known = cache.peek(key)?.entry.shared?.at ?? Number.NEGATIVE_INFINITY;
      if (!answer?.stamp.shared || answer.stamp.shared.at <= known) continue;
      const { bytes, stamp, value } = answer;
      copies.adopt({ key, read, value, bytes }, stamp);
    }
  }
}
