import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How many bytes of uploads go by until what is left of them is collected. */
const COLLECT_EVERY_BYTES = 4 * 1024 * 1024;

/**
 * Has the memory of pieces that have gone by given back soon. Node copies each piece into memory outside of
 * the heap, and V8 lets 32 MiB of that pile up before it looks through young objects for it; but what piles up
 * counts against the limit of the whole heap, which is near for a small one. Each 20 MB or so of an upload then
 * set off a collection of everything, at more cost than to pass the bytes on. With the limits of `heap.ts` 12 MiB at
 * a time did so too, and 4 do not. Looking through young objects takes a moment, and less where it is done often.
 */
export class SpentPieces {
  /** Made when it is first wanted: it comes out of a context of its own. */
  #collect: (() => void) | null | undefined;
  #bytes = 0;

  /** So many bytes more are not needed any longer. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < COLLECT_EVERY_BYTES) return;
    this.#bytes = 0;
    if (this.#collect === undefined) this.#collect = youngCollector();
    this.#collect?.();
  }
}

/** Collects young objects alone; `null` where V8 does not let anybody. */
function youngCollector(): (() => void) | null {
  // It is there in contexts that are made while the flag is set, and in no other: nobody else gets it.
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('typeof gc === "function" ? gc : null');
  setFlagsFromString('--no-expose-gc');
  return typeof collect === 'function' ? () => void collect({ type: 'minor' }) : null;
}
