import { inBackground } from '../../scheduling/at-once.ts';
import { nextTurn } from '../../scheduling/loop-turns.ts';

/**
 * The order of a dry run: its responses arrive when the operation can request nothing more without them. So a read depends
 * on no response if it is requested before the first of them.
 */
export class Rounds {
  readonly #looking = new Set<Promise<void>>();
  /** Those that wait for the end of this round. */
  #waiting: (() => void)[] = [];
  /** Whether a response has arrived: later reads can depend on it. */
  hasAnswered = false;

  /** Resolves when the response to a request arrives. */
  response(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) inBackground(this.#play());
    });
  }

  /** The responses of other replicas are loaded, which can take longer than a turn. */
  async looks(work: Promise<void>): Promise<void> {
    this.#looking.add(work);
    try {
      await work;
    } finally {
      this.#looking.delete(work);
    }
  }

  /** Ends the round when nothing was requested for a turn. */
  async #play(): Promise<void> {
    for (let before = -1; before !== this.#waiting.length || this.#looking.size > 0; ) {
      before = this.#waiting.length;
      await Promise.all(this.#looking);
      await nextTurn();
    }
    this.hasAnswered = true;
    const arrived = this.#waiting;
    this.#waiting = [];
    for (const arrive of arrived) arrive();
  }
}
