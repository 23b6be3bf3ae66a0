import type { WriteStorage } from '../../client/write-store.ts';

/** A `localStorage` that survives the page, with as much room as a test gives it. */
export class MemoryStorage implements WriteStorage {
  readonly items = new Map<string, string>();
  /** Most characters of an item. */
  room = Number.POSITIVE_INFINITY;

  get length(): number {
    return this.items.size;
  }

  key(at: number): string | null {
    return [...this.items.keys()][at] ?? null;
  }

  getItem(name: string): string | null {
    return this.items.get(name) ?? null;
  }

  setItem(name: string, text: string): void {
    if (text.length > this.room) throw new DOMException('No room', 'QuotaExceededError');
    this.items.set(name, text);
  }

  removeItem(name: string): void {
    this.items.delete(name);
  }
}
