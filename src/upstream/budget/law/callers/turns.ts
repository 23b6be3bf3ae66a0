import type { Lane, Rules, TurnLane, TurnState } from '../document.ts';
import { classOf } from './caller-names.ts';
import { ClassTurns } from './class-turns.ts';

/**
 * Number of requests of a caller that wait in a lane, and the turn (`TurnState.seq`) since which at least one has.
 * `null` for a request whose turn had no result, which goes before all others.
 */
export type CallerWaits = readonly [caller: string, count: number, since: number | null];

/** Number of requests of a class of callers that wait in the lane `bulk`. */
export type BulkWaits = readonly [callerClass: string, count: number];

/** Numbers of waiting requests. */
export interface WaitingCounts {
  readonly write: readonly CallerWaits[];
  readonly interactive: readonly CallerWaits[];
  readonly refreshes: number;
  readonly bulk: readonly BulkWaits[];
}

/**
 * The position of a caller in the round of a lane; the lowest has the next turn. A caller that has had no turn since it
 * waits is after all that had a turn before, and before all that arrive later.
 */
function turnAt(
  { served }: TurnState,
  lane: TurnLane,
  { caller, since }: { readonly caller: string; readonly since: number | null },
): number {
  if (since === null) return Number.NEGATIVE_INFINITY;
  const latest = Object.hasOwn(served[lane], caller) ? served[lane][caller] : undefined;
  return Math.max(since + 0.5, latest ?? 0);
}

/** The callers of a lane in the order in which they have their turns. */
export function roundOf<P extends { readonly caller: string; readonly since: number | null }>(
  turns: TurnState,
  lane: TurnLane,
  places: readonly P[],
): P[] {
  if (places.length < 2) return [...places];
  const standing = places.map((place) => ({ place, at: turnAt(turns, lane, place) }));
  return standing.sort((one, other) => one.at - other.at || 0).map(({ place }) => place);
}

/**
 * Number of requests of a lane before the request of a caller in this round. It is counted and not simulated, because
 * all waiting requests use it.
 */
export function beforeInLane<
  Q extends {
    readonly caller: string;
    readonly since: number | null;
    readonly waiting: readonly unknown[];
  },
>(
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

/** A caller's place in the round of a lane. */
interface TurnPlace {
  readonly caller: string;
  /** Number of waiting requests. */
  count: number;
  readonly since: number | null;
}

/** A turn in a simulation: of the caller at a place in the round of a lane. */
export interface NextTurn {
  readonly lane: TurnLane;
  readonly caller: string;
  readonly at: number;
}

/**
 * Simulates the order of turns of all waiting requests, from the turns of a document: the classes of callers take turns,
 * then the lanes of a class, then the callers in a lane.
 */
export class Order {
  readonly #turns: TurnState;
  readonly #rounds: Record<TurnLane, TurnPlace[]>;
  readonly #rules: Pick<Rules, 'classes'>;
  readonly #classes: ClassTurns;
  /** Callers without a turn in this simulation. */
  readonly #held: Record<TurnLane, Set<string>> = { write: new Set(), interactive: new Set() };

  constructor(turns: TurnState, waits: WaitingCounts, rules: Pick<Rules, 'classes'>) {
    const round = (lane: TurnLane): TurnPlace[] => {
      const places = waits[lane].map(([caller, count, since]) => ({ caller, count, since }));
      return roundOf(turns, lane, places);
    };
    this.#turns = turns;
    this.#rules = rules;
    this.#classes = new ClassTurns(turns, rules);
    this.#rounds = { write: round('write'), interactive: round('interactive') };
  }

  /** The caller whose turn is next. */
  get next(): NextTurn | undefined {
    return this.#nextIn(this.#lanes);
  }

  /** Whether a write waits that leaves no slot to others. */
  get hasWrites(): boolean {
    return this.#rounds.write.length > 0;
  }

  /** The caller whose turn is next, of the classes whose next request is a write. */
  get nextWrite(): NextTurn | undefined {
    return this.#nextIn(new Map([...this.#lanes].filter(([, lane]) => lane === 'write')));
  }

  /** The lanes whose turn is next in their classes. */
  get #lanes(): Map<string, TurnLane> {
    const names = new Set<string>();
    for (const { caller } of this.#rounds.write) names.add(classOf(caller));
    for (const { caller } of this.#rounds.interactive) names.add(classOf(caller));
    const lanes = new Map<string, TurnLane>();
    for (const name of names) {
      const lane = this.#classes.laneOf(name, {
        write: this.#waits('write', name) ? 1 : 0,
        interactive: this.#waits('interactive', name) ? 1 : 0,
      });
      if (lane) lanes.set(name, lane);
    }
    return lanes;
  }

  #nextIn(lanes: ReadonlyMap<string, TurnLane>): NextTurn | undefined {
    const name = this.#classes.next(lanes.keys());
    const lane = name === undefined ? undefined : lanes.get(name);
    if (!lane) return undefined;
    const at = this.#rounds[lane].findIndex(({ caller }) => classOf(caller) === name);
    const place = this.#rounds[lane][at];
    return place && { lane, caller: place.caller, at };
  }

  #waits(lane: TurnLane, name: string): boolean {
    return this.#rounds[lane].some(({ caller }) => classOf(caller) === name);
  }

  /** The place of a caller in the round of a lane; -1 for none. */
  placeOf(lane: TurnLane, caller: string): number {
    return this.#rounds[lane].findIndex((place) => place.caller === caller);
  }

  /** Removes the callers for which `isHeld` from a simulation; they keep their positions for the next one. */
  hold(isHeld: (caller: string, lane: TurnLane) => boolean): void {
    for (const lane of ['write', 'interactive'] as const) {
      this.#rounds[lane] = this.#rounds[lane].filter(({ caller }) => {
        const isOut = isHeld(caller, lane);
        if (isOut) this.#held[lane].add(caller);
        return !isOut;
      });
    }
  }

  /** A place in the round of a lane gets its turn later. */
  pass(lane: TurnLane, at: number): void {
    this.#take(lane, at, [this.#classes]);
  }

  /** A place in the round of a lane gets its turn now; the document records it. */
  serve(lane: Lane, at: number): void {
    const turns = this.#turns;
    turns.seq += 1;
    if (lane === 'refresh' || lane === 'bulk') return;
    const recorded = new ClassTurns(turns, this.#rules);
    const place = this.#take(lane, at, [this.#classes, recorded]);
    recorded.record(turns);
    // Removes callers that no longer wait.
    const waiting = new Set(this.#held[lane]);
    for (const { caller } of this.#rounds[lane]) waiting.add(caller);
    const kept = Object.entries(turns.served[lane]).filter(([each]) => waiting.has(each));
    if (place && place.since !== null && waiting.has(place.caller)) {
      kept.push([place.caller, turns.seq]);
    }
    turns.served[lane] = Object.fromEntries(kept);
  }

  #take(lane: TurnLane, at: number, classes: readonly ClassTurns[]): TurnPlace | undefined {
    const place = this.#rounds[lane][at];
    if (!place) return undefined;
    const name = classOf(place.caller);
    const readsWait = this.#waits('interactive', name);
    for (const each of classes) each.serve(name, lane, readsWait);
    this.#rounds[lane].splice(at, 1);
    place.count -= 1;
    // Back to the end of the round, after all callers without a turn in it.
    if (place.count > 0) this.#rounds[lane].push(place);
    return place;
  }
}
