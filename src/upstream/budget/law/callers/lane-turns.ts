import type { Lane, TurnLane } from '../document.ts';

/*
 * The turns of lanes: writes go before reads, with one read after some writes in a row.
 */

/** Number of writes in a row that go before the next waiting read. */
const WRITES_IN_A_ROW = 3;

/** The lane whose turn is next; `undefined` if neither has requests. */
export function nextLane(
  writesInARow: number,
  waits: { readonly write: number; readonly interactive: number },
): TurnLane | undefined {
  if (waits.write > 0 && (waits.interactive === 0 || writesInARow < WRITES_IN_A_ROW))
    return 'write';
  return waits.interactive > 0 ? 'interactive' : undefined;
}

/** Number of writes in a row after a turn of a lane; `readsWait` if reads waited at that time. */
export function inARowAfter(before: number, lane: Lane, readsWait: boolean): number {
  return lane === 'write' && readsWait ? before + 1 : 0;
}

/** Number of requests of both lanes before one with this many of its own lane before it. */
export function acrossLanes(
  writesInARow: number,
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
