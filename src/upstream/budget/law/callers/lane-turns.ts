import { classRules } from '../../../../auth/caller-class.ts';
import type { Lane, Rules, TurnLane } from '../document.ts';
import { classOf } from './caller-names.ts';

/*
 * The turns of lanes: writes go before reads, with one read after some writes in a row. The reads of classes without
 * weight take only slots that are left, as jobs do.
 */

/** Number of writes in a row that go before the next waiting read. */
const WRITES_IN_A_ROW = 3;

/** The lane of a request that would be in this one for a class with weight. `caller` is the name in a budget. */
export function laneWithin<L extends TurnLane>(
  { classes }: Pick<Rules, 'classes'>,
  lane: L,
  caller: string,
): L | 'bulk' {
  if (lane === 'write' || !classes) return lane;
  return classRules(classes, classOf(caller)).weight === 0 ? 'bulk' : lane;
}

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
