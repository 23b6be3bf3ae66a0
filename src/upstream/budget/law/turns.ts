import type { Lane, TurnLane, TurnState } from './document.ts';

/** With reads waiting too, this many writes in a row go before the next read does. */
const WRITES_IN_A_ROW = 3;

/**
 * How many requests of a caller wait in a lane, and since which turn (`TurnState.seq`) at least one has. `null` for one that
 * had its turn in vain, which goes before all others.
 */
export type CallerWaits = readonly [caller: string, count: number, since: number | null];

/** All that waits in one process. */
export interface WaitingCounts {
  readonly write: readonly CallerWaits[];
  readonly interactive: readonly CallerWaits[];
  readonly refreshes: number;
  /** Age of the oldest answer that is to be refreshed, in milliseconds. */
  readonly oldestMs: number;
}

/** How many requests wait in all. */
export function countWaiting({ interactive, refreshes, write }: WaitingCounts): number {
  const count = (of: readonly CallerWaits[]): number => of.reduce((sum, [, each]) => sum + each, 0);
  return count(write) + count(interactive) + refreshes;
}

/** A caller's place in the round of a lane. */
export interface TurnPlace {
  readonly caller: string;
  /** Requests that wait. */
  count: number;
  readonly since: number | null;
}

/**
 * Where a caller stands in the round of a lane; the lowest has the next turn. Who had none since it waits stands behind
 * all who had theirs before, and before those who come later.
 */
export function turnAt(
  { served }: TurnState,
  lane: TurnLane,
  { caller, since }: Pick<TurnPlace, 'caller' | 'since'>,
): number {
  if (since === null) return Number.NEGATIVE_INFINITY;
  const latest = Object.hasOwn(served[lane], caller) ? served[lane][caller] : undefined;
  return Math.max(since + 0.5, latest ?? 0);
}

/** The callers of a lane in the order in which they have their turns. */
export function roundOf<P extends Pick<TurnPlace, 'caller' | 'since'>>(
  turns: TurnState,
  lane: TurnLane,
  places: readonly P[],
): P[] {
  if (places.length < 2) return [...places];
  const standing = places.map((place) => ({ place, at: turnAt(turns, lane, place) }));
  return standing.sort((one, other) => one.at - other.at || 0).map(({ place }) => place);
}

/** What several have queued, taken in turns: round after round, one of each. */
export function* inTurns<T>(queues: readonly (readonly T[])[]): Generator<T> {
  for (let [round, left] = [0, queues]; left.length > 0; round += 1) {
    left = left.filter((queue) => queue.length > round);
    for (const queue of left) yield queue[round] as T;
  }
}

/** The lane whose turn is next; `undefined` when none of both waits. */
export function nextLane(
  { writesInARow }: Pick<TurnState, 'writesInARow'>,
  waits: { readonly write: number; readonly interactive: number },
): TurnLane | undefined {
  if (waits.write > 0 && (waits.interactive === 0 || writesInARow < WRITES_IN_A_ROW))
    return 'write';
  return waits.interactive > 0 ? 'interactive' : undefined;
}

/** Writes in a row once a request of a lane had its turn; `readsWait` while it had. */
export function inARowAfter(before: number, lane: Lane, readsWait: boolean): number {
  return lane === 'write' && readsWait ? before + 1 : 0;
}

/** How many of both lanes go before what has this many of its own lane before it. */
export function acrossLanes(
  { writesInARow }: TurnState,
  lane: TurnLane,
  before: number,
  waits: { readonly write: number; readonly interactive: number },
): number {
  if (lane === 'write') {
    const readsBetween = Math.floor((writesInARow + before) / WRITES_IN_A_ROW);
    return before + Math.min(waits.interactive, readsBetween);
  }
  const writesBefore = WRITES_IN_A_ROW * (before + 1) - writesInARow;
  return before + Math.min(waits.write, writesBefore);
}

/** The order in which all that waits has its turn if nothing else comes, played forward from a document's turns. */
export class Order<P extends TurnPlace> {
  readonly rounds: Record<TurnLane, P[]>;
  #writesInARow: number;

  constructor(turns: TurnState, places: Readonly<Record<TurnLane, readonly P[]>>) {
    const round = (lane: TurnLane): P[] =>
      roundOf(turns, lane, places[lane]).filter(({ count }) => count > 0);
    this.rounds = { write: round('write'), interactive: round('interactive') };
    this.#writesInARow = turns.writesInARow;
  }

  /** Whose turn is next. */
  peek(): { readonly lane: TurnLane; readonly place: P } | undefined {
    const { interactive, write } = this.rounds;
    const waits = { write: write.length, interactive: interactive.length };
    const lane = nextLane({ writesInARow: this.#writesInARow }, waits);
    const place = lane && this.rounds[lane][0];
    return place && { lane, place };
  }

  /** The next one has its turn, or one with another place in the round. */
  take(lane: TurnLane, at = 0): void {
    const readsWait = this.rounds.interactive.length > 0;
    this.#writesInARow = inARowAfter(this.#writesInARow, lane, readsWait);
    const [place] = this.rounds[lane].splice(at, 1);
    if (!place) return;
    place.count -= 1;
    // Back to the end of the round, behind everyone who has not had a turn in it.
    if (place.count > 0) this.rounds[lane].push(place);
  }
}
