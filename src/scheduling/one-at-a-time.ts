import { FairQueue } from './fair-queue.ts';
import { loopTurns } from './loop-turns.ts';

/**
 * Runs one task at a time, with the owners of waiting tasks in turn. It is for tasks that compute for long in many
 * pieces: the pieces of several together would hold the event loop.
 */
export class OneAtATime {
  /** A task that waits. */
  readonly #waiting = new FairQueue<{ readonly enter: () => void }>();
  #isRunning = false;

  /** Runs a task of an owner when it is its turn; rejects with its error. */
  async run<T>(owner: string, task: () => T | Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.add({ enter: resolve }, [owner]);
      this.#next();
    });
    try {
      await loopTurns.turn(owner);
      return await task();
    } finally {
      this.#isRunning = false;
      this.#waiting.charge(owner, 1);
      this.#next();
    }
  }

  #next(): void {
    if (this.#isRunning) return;
    const taken = this.#waiting.take();
    if (!taken) return;
    this.#isRunning = true;
    taken.entry.enter();
  }
}
