/** A query that is to be run. */
export interface PacedRun {
  /** Those who wait for it; it takes the turn of whichever of them is first. There is at least one. */
  readonly callers: () => Iterable<string>;
  /** Whether nothing is known yet of what its result takes. */
  readonly isFirst: () => boolean;
  /** Runs it. Never rejects. */
  readonly work: () => Promise<void> | void;
}

/** What decides who is next. */
interface Order {
  /** The caller with the lowest goes first; of equal ones, who has waited the longest. */
  readonly costOf: (caller: string) => number;
  /** Whether a run may begin now, in the turn of this caller. */
  readonly mayBegin: (run: PacedRun, caller: string) => boolean;
}

/** Runs that wait, in a line for each caller: one that several callers wait for stands in the line of each. */
export class RunQueue {
  readonly #lines = new Map<string, Set<PacedRun>>();
  /** Whose lines each run stands in. */
  readonly #callers = new Map<PacedRun, Set<string>>();

  /** Puts a run into the lines of its callers, behind what is there. Where it stands already, it stays. */
  add(run: PacedRun): void {
    const callers = this.#callers.get(run) ?? new Set();
    this.#callers.set(run, callers);
    for (const caller of run.callers()) {
      callers.add(caller);
      const line = this.#lines.get(caller) ?? new Set();
      line.add(run);
      this.#lines.set(caller, line);
    }
  }

  /** Takes a run out of all lines. */
  remove(run: PacedRun): void {
    for (const caller of this.#callers.get(run) ?? []) {
      const line = this.#lines.get(caller);
      line?.delete(run);
      if (line?.size === 0) this.#lines.delete(caller);
    }
    this.#callers.delete(run);
  }

  /** The run that is next, and in whose turn; it stays. `null` where none may begin. */
  first({ costOf, mayBegin }: Order): { readonly run: PacedRun; readonly caller: string } | null {
    let first: { readonly run: PacedRun; readonly caller: string } | null = null;
    let lowest = Number.POSITIVE_INFINITY;
    for (const [caller, line] of this.#lines) {
      const cost = costOf(caller);
      if (cost >= lowest) continue;
      for (const run of line) {
        if (!mayBegin(run, caller)) continue;
        first = { run, caller };
        lowest = cost;
        break;
      }
    }
    return first;
  }
}
