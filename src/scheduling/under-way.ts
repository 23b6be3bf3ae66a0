import { nextTurn } from './loop-turns.ts';

/** The work of one operation that is under way, by kind, so that what comes after it can wait for all of it. */
export class UnderWay<Kind> {
  readonly #counts = new Map<Kind, number>();
  #onEnd: (() => void)[] = [];

  /** Runs one piece of work of a kind. */
  async track<T>(kind: Kind, work: () => Promise<T>): Promise<T> {
    this.#counts.set(kind, this.#count(kind) + 1);
    try {
      return await work();
    } finally {
      this.#counts.set(kind, this.#count(kind) - 1);
      for (const wake of this.#onEnd.splice(0)) wake();
    }
  }

  /**
   * Resolves when no work of these kinds is under way, and none follows from the last. Each ends by itself,
   * and the operation is not done before it, so that this adds no more than the work that waits for it.
   */
  async ended(kinds: readonly Kind[]): Promise<void> {
    for (;;) {
      await nextTurn();
      if (kinds.every((kind) => this.#count(kind) === 0)) return;
      await new Promise<void>((resolve) => {
        this.#onEnd.push(resolve);
      });
    }
  }

  #count(kind: Kind): number {
    return this.#counts.get(kind) ?? 0;
  }
}
