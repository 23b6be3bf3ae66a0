/** Values in the result of a query that are no cache entries, and whether they have changed. */
export class WatchedValues {
  readonly #seen = new Map<string, { readonly stateOf: () => string; readonly state: string }>();

  /** A run begins, which may show others. */
  beginRun(): void {
    this.#seen.clear();
  }

  /** See `ReadWatcher.look`. */
  look(name: string, stateOf: () => string): void {
    this.#seen.set(name, { stateOf, state: stateOf() });
  }

  /** Whether one of them is another by now. */
  get haveChanged(): boolean {
    for (const { state, stateOf } of this.#seen.values()) if (stateOf() !== state) return true;
    return false;
  }
}
