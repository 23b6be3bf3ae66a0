import type { TurnLane, TurnState } from './document.ts';

/** With reads waiting too, so many writes in a row go before the next read does. */
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

/** A caller's place in the round of a lane. */
export interface TurnPlace {
  readonly caller: string;
  /** Requests that wait. */
  count: number;
  readonly since: number | null;
}

/**
 * The callers of a lane in the order in which they have their turns: who had none yet stands behind all who had theirs
 * before, and before those who come later.
 */
function roundOf<P extends TurnPlace>(
  { served }: TurnState,
  lane: TurnLane,
  places: readonly P[],
): P[] {
  const turns = served[lane];
  const key = ({ caller, since }: TurnPlace): number => {
    if (since === null) return Number.NEGATIVE_INFINITY;
    return Math.max(since + 0.5, Object.hasOwn(turns, caller) ? (turns[caller] ?? 0) : 0);
  };
  if (places.length < 2) return [...places];
  const keyed = places.map((place) => ({ place, at: key(place) }));
  return keyed.sort((a, b) => a.at - b.at || 0).map(({ place }) => place);
}

/** The lane whose turn is next; `undefined` when none of both waits. */
function nextLane(
  { writesInARow }: Pick<TurnState, 'writesInARow'>,
  waits: { readonly write: number; readonly interactive: number },
): TurnLane | undefined {
  if (waits.write > 0 && (waits.interactive === 0 || writesInARow < WRITES_IN_A_ROW))
    return 'write';
  return waits.interactive > 0 ? 'interactive' : undefined;
}

/** Writes in a row once a request of a lane had its turn; `readsWait` while it had. */
export function inARowAfter(
  before: number,
  lane: TurnLane | 'refresh',
  readsWait: boolean,
): number {
  return lane === 'write' && readsWait ? before + 1 : 0;
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
