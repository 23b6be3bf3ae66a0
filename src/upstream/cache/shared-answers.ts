import type { KeptEntries } from '../../redis/kept-entries.ts';
import type { Replica } from '../../redis/replica.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Stamp } from '../request.ts';
import type { Answer } from './cache.ts';
import type { SharedGenerations } from './shared-generations.ts';

interface SharedAnswersOptions {
  readonly clock: Clock;
  readonly replica: Pick<Replica, 'epoch' | 'toLocal'>;
  readonly generations: SharedGenerations;
  readonly kept: KeptEntries;
  /** Whether they can be asked for. */
  readonly isUp: () => boolean;
  readonly nameOf: (kind: string, text: string) => string;
  /** Distinguishes this upstream from others. */
  readonly baseUrl: string;
}

/** The answers of one upstream that replicas keep for each other. */
export class SharedAnswers {
  readonly #options: SharedAnswersOptions;

  constructor(options: SharedAnswersOptions) {
    this.#options = options;
  }

  /** What an answer is kept under, which shows neither the read nor the key. */
  nameOf(key: string, secret: string): string {
    const { baseUrl, nameOf } = this.#options;
    return nameOf('entry', `${baseUrl} ${secret} ${key}`);
  }

  /** The answers by these names, as far as one is there and was asked for as all remember it. Never rejects. */
  async find(names: readonly string[]): Promise<(Answer | null)[]> {
    const { clock, generations, isUp, kept, replica } = this.#options;
    if (!isUp()) return names.map(() => null);
    const found = await kept.find(names);
    return found.map((entry) => {
      if (!entry || entry.epoch !== replica.epoch) return null;
      const { asOf, bytes, epoch, storedAt, value } = entry;
      const stamp: Stamp = {
        storedAt: Math.min(clock.now(), replica.toLocal(storedAt)),
        generation: generations.generationOf(asOf),
        shared: { at: storedAt, epoch, asOf },
      };
      return { value, bytes, stamp };
    });
  }

  /** Keeps an answer for all; false when it cannot be. */
  keep(name: string, { bytes, stamp: { shared }, value }: Answer, ttlMs: number): boolean {
    const { isUp, kept, replica } = this.#options;
    if (!shared || shared.epoch !== replica.epoch || !isUp()) return false;
    const { asOf, at, epoch } = shared;
    return kept.keep(name, { storedAt: at, epoch, asOf, value, bytes }, ttlMs);
  }
}
