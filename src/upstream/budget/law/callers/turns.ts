import type { Rules, TurnLane, TurnState } from '../document.ts';
import { classOf } from './caller-names.ts';
import { ClassTurns } from './class-turns.ts';

/** A caller that waits in a lane, and the turn (`TurnState.seq`) since which at least one of its requests does. */
interface TurnPlace {
  readonly caller: string;
  readonly since: number;
}

/**
 * The position of a caller in the round of a lane; the lowest has the next turn. A caller that has had no turn since it
 * waits is after all that had a turn before, and before all that arrive later.
 */
function turnAt({ served }: TurnState, lane: TurnLane, { caller, since }: TurnPlace): number {
  const latest = Object.hasOwn(served[lane], caller) ? served[lane][caller] : undefined;
  return Math.max(since + 0.5, latest ?? 0);
}

/** The callers of a lane in the order in which they have their turns. */
export function roundOf<P extends TurnPlace>(
  turns: TurnState,
  lane: TurnLane,
  places: readonly P[],
): P[] {
  if (places.length < 2) return [...places];
  const standing = places.map((place) => ({ place, at: turnAt(turns, lane, place) }));
  return standing.sort((one, other) => one.at - other.at || 0).map(({ place }) => place);
}

/** The caller whose turn is next in a lane; of equal ones the first. */
export function firstOf<P extends TurnPlace>(
  turns: TurnState,
  lane: TurnLane,
  places: Iterable<P>,
): P | undefined {
  let first: P | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const place of places) {
    const at = turnAt(turns, lane, place);
    if (first === undefined || at < least) [first, least] = [place, at];
  }
  return first;
}

/**
 * Number of requests of a lane before the request of a caller in this round. It is counted and not simulated, because
 * all waiting requests use it.
 */
export function beforeInLane<Q extends TurnPlace & { readonly waiting: readonly unknown[] }>(
  turns: TurnState,
  lane: TurnLane,
  queues: Iterable<Q>,
  { own, round }: { readonly own: Q; readonly round: number },
): number {
  const at = turnAt(turns, lane, own);
  let before = round;
  let isEarlier = true;
  for (const queue of queues) {
    if (queue === own) {
      isEarlier = false;
      continue;
    }
    const each = turnAt(turns, lane, queue);
    const goesFirst = each < at || (each === at && isEarlier);
    before += Math.min(queue.waiting.length, goesFirst ? round + 1 : round);
  }
  return before;
}

/** The queues of several callers, merged in rounds of one entry each. */
export function* inTurns<T>(queues: readonly (readonly T[])[]): Generator<T> {
  for (let [round, left] = [0, queues]; left.length > 0; round += 1) {
    left = left.filter((queue) => queue.length > round);
    for (const queue of left) yield queue[round] as T;
  }
}

/** A turn of a caller in a lane. */
interface Turn {
  readonly lane: TurnLane;
  readonly caller: string;
  /** Whether its last turn had no result. */
  readonly isAgain: boolean;
  /** Whether reads of its class waited. */
  readonly readsWait: boolean;
  /** Whether a caller still waits in the lane. */
  readonly waits: (caller: string) => boolean;
}

/** Records the turn of a caller, with the number `TurnState.seq`. */
export function turnGoes(
  turns: TurnState,
  rules: Pick<Rules, 'classes'>,
  { caller, isAgain, lane, readsWait, waits }: Turn,
): void {
  const classes = new ClassTurns(turns, rules);
  classes.serve(classOf(caller), lane, readsWait);
  classes.record(turns);
  // Removes callers that no longer wait.
  const kept = Object.entries(turns.served[lane]).filter(([each]) => waits(each));
  if (!isAgain && waits(caller)) kept.push([caller, turns.seq]);
  turns.served[lane] = Object.fromEntries(kept);
}
