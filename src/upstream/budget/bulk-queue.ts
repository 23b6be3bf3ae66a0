import { inTurns } from './law/callers/turns.ts';

/** The waiting requests of jobs, whose callers take turns. Requests whose turn had no result go before all others. */
export class BulkQueue<W> {
  /** In the order of their turns. */
  readonly #callers = new Map<string, W[]>();
  readonly #again: W[] = [];

  /** Number of waiting requests. */
  get size(): number {
    let { length } = this.#again;
    for (const waiting of this.#callers.values()) length += waiting.length;
    return length;
  }

  /** The request whose turn is next; `isDue` if its last turn had no result. */
  get first(): { readonly request: W; readonly isDue: boolean } | undefined {
    const [request] = this.inOrder();
    return request && { request, isDue: this.#again.length > 0 };
  }

  /** A copy, for a simulation that does not change this one. */
  copy(): BulkQueue<W> {
    const copy = new BulkQueue<W>();
    for (const [caller, waiting] of this.#callers) copy.#callers.set(caller, [...waiting]);
    copy.#again.push(...this.#again);
    return copy;
  }

  /** Queues a request after all others of its caller. */
  add(waiting: W, caller: string): void {
    const own = this.#callers.get(caller);
    if (own) own.push(waiting);
    else this.#callers.set(caller, [waiting]);
  }

  /** Puts a request whose turn had no result back before all others. */
  again(waiting: W): void {
    this.#again.push(waiting);
  }

  /** Removes a request; false if it does not wait here. After its first one, a caller is after all others. */
  remove(waiting: W, caller: string): boolean {
    const again = this.#again.indexOf(waiting);
    if (again >= 0) this.#again.splice(again, 1);
    const own = this.#callers.get(caller) ?? [];
    const at = own.indexOf(waiting);
    if (at < 0) return again >= 0;
    own.splice(at, 1);
    if (at === 0) this.#callers.delete(caller);
    if (at === 0 && own.length > 0) this.#callers.set(caller, own);
    return true;
  }

  /** All requests in the order in which they are sent if no others arrive. */
  *inOrder(): Generator<W> {
    yield* this.#again;
    yield* inTurns([...this.#callers.values()]);
  }
}
