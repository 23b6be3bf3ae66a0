import type { Credential } from '../../auth/credential.ts';
import { BoundedMap } from '../../bounded-map.ts';
import type { Clock } from '../../clock.ts';
import type { Read } from '../request.ts';

/** A cache entry that was asked for of late. */
interface Wanted {
  readonly key: string;
  readonly read: Read<unknown>;
  readonly credential: Credential;
  readonly askedAt: number;
  /** How often it was asked for since it was last read upstream. */
  asks: number;
}

/** Answers whose readers are remembered. */
const REMEMBERED = 5000;

/** Remembers who wants what, so that refreshes go where somebody will look. Costs no upstream call. */
export class Interest {
  readonly #clock: Clock;
  /** To ask for an answer is to use it here, and nothing else is. */
  readonly #wanted = new BoundedMap<Wanted>({ max: REMEMBERED });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A reader was served an entry; how often that has happened since it was read upstream. */
  asked(key: string, read: Read<unknown>, credential: Credential): number {
    const asks = (this.#wanted.peek(key)?.asks ?? 0) + 1;
    this.#wanted.set(key, { key, read, credential, askedAt: this.#clock.now(), asks });
    return asks;
  }

  /** An entry is new: from here its readers count afresh. Answers with whose credential it is wanted. */
  renewed(key: string): Credential | undefined {
    const wanted = this.#wanted.peek(key);
    if (wanted) wanted.asks = 0;
    return wanted?.credential;
  }

  /** What was asked for with one credential in the last `ms` milliseconds, the latest first. */
  within(ms: number, { partition }: Credential): Wanted[] {
    const since = this.#clock.now() - ms;
    return [...this.#wanted.values()].filter(
      (each) => each.askedAt >= since && each.credential.partition === partition,
    );
  }
}
