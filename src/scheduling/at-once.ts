import { nextTurn } from './loop-turns.ts';

/**
 * A value that is known now, or a promise of one. A known value is not wrapped in a promise, because each promise
 * costs all callers above it a turn of the event loop.
 */
export type AtOnce<T> = T | Promise<T>;

/** Continues with a value: synchronously if it is available, otherwise when its promise resolves. */
export function andThen<T, U>(value: AtOnce<T>, goOn: (value: T) => AtOnce<U>): AtOnce<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** Work that can wait, written as a generator: `yield* until(...)` replaces `await`. */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>;

/** Returns the value; waits only if it is a promise. */
export function* until<T>(value: AtOnce<T>): Steps<T> {
  return value instanceof Promise ? ((yield value) as T) : value;
}

/**
 * Runs all steps: synchronously up to the first wait.
 * @throws any error of the steps before the first wait; later ones reject the promise.
 */
export function takeSteps<T>(steps: Steps<T>): AtOnce<T> {
  const { done, value } = steps.next();
  return done ? value : takeLater(steps, value);
}

/** Runs all of them in parallel. Rejects with the first failure, after all have started. */
export function takeAll<T>(all: readonly Steps<T>[]): AtOnce<T[]> {
  const taken = all.map((steps): AtOnce<T> => {
    try {
      return takeSteps(steps);
    } catch (error) {
      return Promise.reject(error);
    }
  });
  return taken.some((each) => each instanceof Promise) ? Promise.all(taken) : (taken as T[]);
}

/**
 * Continues work that no code awaits. The work handles expected failures; any other is a bug, which the process logs
 * with the id of the request that caused it.
 */
export function inBackground(work: PromiseLike<unknown>): void {
  // Has no handler, so that the process receives its rejection.
  // oxlint-disable-next-line typescript/no-floating-promises
  void work;
}

async function takeLater<T>(steps: Steps<T>, first: Promise<unknown>): Promise<T> {
  let waitsFor = first;
  for (;;) {
    // Its failure is reported where it is awaited.
    const { done, value } = await waitsFor.then(
      (answer) => steps.next(answer),
      (error: unknown) => steps.throw(error),
    );
    if (done) return value;
    waitsFor = value;
  }
}

/** The running work of one operation, by kind, so that later work can wait for all of it. */
export class UnderWay<Kind> {
  readonly #counts = new Map<Kind, number>();
  #onEnd: (() => void)[] = [];

  /** Runs one task of a kind. */
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
   * Resolves when no work of these kinds is running and none follows from the last. The operation ends only after
   * this work in any case, so this adds only the work that waits for it.
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
