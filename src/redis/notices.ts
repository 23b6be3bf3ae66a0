import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { RedisUnavailable } from './failures.ts';
import { scripts } from './lua/scripts.ts';
import type { Replica } from './replica.ts';
import type { ProtocolTimes } from './times.ts';
import { pairsIn } from './values.ts';

/** What Redis has answered to a notice: all writes of one command have one number. */
export interface Noted {
  readonly epoch: string;
  readonly n: number;
  readonly ageMs: number;
  /** The replicas whose lease runs, with what is left of it in milliseconds. */
  readonly others: ReadonlyMap<string, number>;
}

/** A write that Redis does not know of yet. */
interface Notice {
  readonly tags: readonly string[];
  /** The permit of the write, whose intent stands for it until then. */
  readonly intent: string | undefined;
  readonly done: (noted: Noted | null) => void;
}

interface NoticesOptions {
  readonly replica: Pick<Replica, 'call'>;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
}

/**
 * Tells Redis of writes, again and again until it gets through. One command at a time is under way, with all writes
 * that are waiting: however many there are while Redis is away, there is one attempt to make and one timer.
 */
export class Notices {
  readonly #options: NoticesOptions;
  readonly #waiting = new Set<Notice>();
  #isTelling = false;
  #wake = (): void => {};
  #closed = false;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** Tells of a write that has touched tags; `null` once that is of no use any more. Never rejects. */
  tell(tags: readonly string[], intent?: string): Promise<Noted | null> {
    if (this.#closed) return Promise.resolve(null);
    return new Promise((done) => {
      this.#waiting.add({ tags, intent, done });
      if (!this.#isTelling) inBackground(this.#tellAll());
    });
  }

  /** Redis can be asked again: what waits is told now. */
  again(): void {
    this.#wake();
  }

  /** Nothing is told any more. */
  close(): void {
    this.#closed = true;
    for (const { done } of this.#waiting) done(null);
    this.#waiting.clear();
    this.#wake();
  }

  async #tellAll(): Promise<void> {
    const { clock, replica, times } = this.#options;
    this.#isTelling = true;
    while (this.#waiting.size > 0) {
      const notices = [...this.#waiting];
      const tags = [...new Set(notices.flatMap((notice) => notice.tags))];
      const intents = notices.flatMap(({ intent }) => intent ?? []);
      try {
        const { epoch, rest } = await replica.call(scripts.touched, [
          JSON.stringify({ tags, intents }),
        ]);
        const [n, age, others] = rest;
        const noted = { epoch, n: Number(n), ageMs: Number(age), others: leasesIn(others) };
        for (const notice of notices) {
          this.#waiting.delete(notice);
          notice.done(noted);
        }
      } catch (error) {
        // One that was carried out and not heard of is told twice, which does no harm.
        const waitMs = error instanceof RedisUnavailable ? times.leaseMs : times.beatMs;
        await new Promise<void>((resolve) => {
          const cancel = clock.after(waitMs, resolve);
          this.#wake = () => {
            cancel();
            resolve();
          };
        });
      }
    }
    this.#isTelling = false;
  }
}

function leasesIn(reply: unknown): ReadonlyMap<string, number> {
  return new Map(pairsIn(reply).map(([id, ms]) => [id, Number(ms)]));
}
