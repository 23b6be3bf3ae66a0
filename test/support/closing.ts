type End = () => unknown;

/** Ends what is opened; does nothing where no test runs, as in benches. */
let keeper: (end: End) => void = () => {};

/** Sets who ends what is opened from now on. */
export function keepBy(next: (end: End) => void): void {
  keeper = next;
}

/**
 * What is opened in a test, or before it, ends with it, and what is opened elsewhere with its file: the latest first.
 * Returns the function that ends it sooner; it is called once.
 */
export function closing(end: () => Promise<void> | void): () => Promise<void> {
  let open: typeof end | undefined = end;
  const close = async (): Promise<void> => {
    const now = open;
    // What is closed may be large.
    open = undefined;
    await now?.();
  };
  keeper(close);
  return close;
}
