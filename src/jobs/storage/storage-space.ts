import { overLimit } from './storage-errors.ts';

/** The bytes that the files of all jobs take. */
export class StorageSpace {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes space for output.
   * @throws JobStorageFull if there is not enough.
   */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) throw overLimit(this.#maxBytes);
    this.#bytes += bytes;
  }

  /** Counts what is written or removed without a limit; a record must be saved when there is no space, too. */
  add(change: number): void {
    this.#bytes += change;
  }
}
