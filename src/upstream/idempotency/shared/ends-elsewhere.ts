import type { Clock } from '../../../scheduling/clock.ts';

/** How often to look whether something has ended: a message can be lost, and a replica can crash. In milliseconds. */
const LOOK_AGAIN_MS = 250;

/** Waits for what other replicas use: keys and rows. They announce the end, but may be unable to. */
export class EndsElsewhere {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it may have ended: when that is announced, or after a while. */
  of(name: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(name) ?? new Set();
      this.#waiting.set(name, waiting);
      const end = (): void => {
        cancel();
        waiting.delete(end);
        if (waiting.size === 0) this.#waiting.delete(name);
        resolve();
      };
      const cancel = this.#clock.after(LOOK_AGAIN_MS, end);
      waiting.add(end);
    });
  }

  /** Another replica has announced an end. */
  ended(name: string): void {
    for (const end of this.#waiting.get(name) ?? []) end();
  }
}
