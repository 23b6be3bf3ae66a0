import type { Batch, Engine, KeyRange, Selection } from './engine.ts';

/** Whether a key lies in a span. */
export function isWithin(key: string, { from, to }: KeyRange): boolean {
  return key >= from && key < to;
}

/** A database that ends with this process: for the sandbox and `STATE_DIR=off`. */
export class MemoryEngine implements Engine {
  readonly isDurable: boolean = false;
  readonly isShared: boolean = false;
  readonly isComplete = false;
  readonly isReplacement = false;
  readonly #values = new Map<string, Buffer>();

  watch(): void {}

  write({ cleared, values }: Batch): Promise<void> {
    for (const span of cleared) {
      for (const key of this.#values.keys()) if (isWithin(key, span)) this.#values.delete(key);
    }
    for (const [key, value] of values) {
      if (value === null) this.#values.delete(key);
      else this.#values.set(key, value);
    }
    return Promise.resolve();
  }

  async *read({ limit, reverse, ...span }: Selection): AsyncIterable<readonly [string, Buffer]> {
    const keys = [...this.#values.keys()].filter((key) => isWithin(key, span)).sort();
    if (reverse) keys.reverse();
    for (const key of keys.slice(0, limit)) {
      const value = this.#values.get(key);
      if (value) yield [key, value];
    }
  }

  recover(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
