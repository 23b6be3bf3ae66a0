import type { RowLock } from '../row-locks.ts';
import type { SendRecord } from '../send-record.ts';

/** Holds a lock until a write is over: longer than its caller waits, if the request is under way then. */
export class SendHold<T> implements SendRecord<T> {
  readonly #lock: RowLock;
  #isUnderWay = false;
  #isLeft = false;

  constructor(lock: RowLock) {
    this.#lock = lock;
  }

  leaving(): void {
    this.#isUnderWay = true;
  }

  stayed(): void {
    this.#isUnderWay = false;
  }

  answered(): void {
    this.#isUnderWay = false;
  }

  ended(): void {
    this.#isUnderWay = false;
    if (this.#isLeft) this.#lock.release();
  }

  /** Its caller has a result, or no longer waits. */
  leave(): void {
    this.#isLeft = true;
    if (!this.#isUnderWay) this.#lock.release();
  }
}
