import type { Resource } from '../resources.ts';

/** The reads of one operation that are under way, so that what follows from them can be planned as one. */
export class ReadsUnderWay {
  readonly #counts = new Map<Resource, number>();
  #onEnd: (() => void)[] = [];

  /** Runs one read of a resource. */
  async track<T>(resource: Resource, read: () => Promise<T>): Promise<T> {
    this.#counts.set(resource, this.#count(resource) + 1);
    try {
      return await read();
    } finally {
      this.#counts.set(resource, this.#count(resource) - 1);
      for (const wake of this.#onEnd.splice(0)) wake();
    }
  }

  /**
   * Resolves when no read of these resources is under way, and none follows from the last. Each ends by itself,
   * and the operation is not done before it, so that this adds no more than the reads that wait for it.
   */
  async landed(resources: readonly Resource[]): Promise<void> {
    for (;;) {
      // Whatever an answer leads to begins within one turn of the event loop.
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      if (resources.every((resource) => this.#count(resource) === 0)) return;
      await new Promise<void>((resolve) => {
        this.#onEnd.push(resolve);
      });
    }
  }

  #count(resource: Resource): number {
    return this.#counts.get(resource) ?? 0;
  }
}
