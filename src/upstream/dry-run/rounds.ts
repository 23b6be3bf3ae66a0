import { inBackground } from '../../scheduling/at-once.ts';
import { nextTurn } from '../../scheduling/loop-turns.ts';

/**
 * The order of a dry run: its responses arrive when the operation can request nothing more without them. So a read depends
 * on no response if it is requested before the first of them.
 */
export class Rounds {
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

  /** Ends the round when nothing was requested for a turn. */
  async #play(): Promise<void> {
    for (let before = -1; before !== this.#waiting.length; ) {
      before = this.#waiting.length;
      await nextTurn();
    }
    this.hasAnswered = true;
    const arrived = this.#waiting;
    this.#waiting = [];
    for (const arrive of arrived) arrive();
  }
}
