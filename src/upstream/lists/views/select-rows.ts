import { GatewayError, type UpstreamName } from '../../../errors.ts';
import type { Steps } from '../../../scheduling/at-once.ts';
import { loopTurns } from '../../../scheduling/loop-turns.ts';
import type { Caller } from '../../operation.ts';
import type { Receipt } from '../../receipt.ts';
import type { Row } from '../../request.ts';
import { compareValues, type ListView, type SortValue } from './view.ts';

/** Rows that one operation may examine for views that are not remembered: a view of 20,000 rows 50 times. */
const MOST_EXAMINED = 1_000_000;
/** Rows between two looks at the time: a row can have a long text. */
const ROWS_A_LOOK = 8;
/** Rows that are sorted in one piece. */
const ROWS_A_RUN = 2048;

/** Rows that each operation has examined so far. */
const examined = new WeakMap<Receipt, number>();

/** Whose operation computes a view, and of which API. */
export interface Examiner {
  readonly caller: Caller;
  readonly upstream: UpstreamName;
}

/** The rows of a view. */
export interface Selected {
  /** Their positions in the list, in the order of the view. */
  readonly positions: Uint32Array;
  /** Whether no row of the list occurs twice. */
  readonly distinct: boolean;
}

/**
 * Selects the rows of a view. Takes several turns of the event loop for many rows, and shares
 * them fairly with other callers.
 * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for an operation that examines too many rows.
 */
export function* selectRows<R extends Row>(
  rows: readonly R[],
  { filter, order }: ListView<R>,
  /** What rows are known by, if one can be on two pages. */
  identities: ((rows: readonly R[]) => readonly string[]) | null,
  { caller, upstream }: Examiner,
): Steps<Selected> {
  countExamined(rows.length, caller.receipt, upstream);
  const pause = () => loopTurns.pause(caller.name);
  const seen = new Set<string>();
  const found: number[] = [];
  const values: SortValue[] = [];
  let names: readonly string[] | undefined;
  for (const [position, row] of rows.entries()) {
    const nth = position % ROWS_A_LOOK;
    if (nth === 0) {
      const wait = pause();
      if (wait) yield wait;
      names = identities?.(rows.slice(position, position + ROWS_A_LOOK));
    }
    const name = names?.[nth];
    if (name !== undefined) {
      const before = seen.size;
      if (seen.add(name).size === before) continue;
    }
    if (filter && !filter(row)) continue;
    if (order) values.push(order.value(row));
    found.push(position);
  }
  const distinct = !identities || seen.size === rows.length;
  if (!order) return { positions: Uint32Array.from(found), distinct };
  const { descending } = order;
  const compare = (a: number, b: number): number =>
    compareValues(values[a] ?? null, values[b] ?? null, descending) || a - b;
  const sorted = yield* sortInPieces(found.length, compare, pause);
  return { positions: sorted.map((nth) => found[nth] as number), distinct };
}

function countExamined(rows: number, receipt: Receipt, upstream: UpstreamName): void {
  const needed = (examined.get(receipt) ?? 0) + rows;
  examined.set(receipt, needed);
  if (needed <= MOST_EXAMINED) return;
  throw new GatewayError(
    'OPERATION_TOO_EXPENSIVE',
    `The searches, filters and orders of this operation examine more than ${MOST_EXAMINED} rows. Send them in several operations.`,
    { details: { upstream, limit: MOST_EXAMINED, needed, left: 0 } },
  );
}

/** Sorts the numbers from 0 to before `length`, by merging sorted runs. `compare` is never 0 for two of them. */
function* sortInPieces(
  length: number,
  compare: (a: number, b: number) => number,
  pause: () => Promise<void> | null,
): Steps<Uint32Array> {
  let [from, to] = [new Uint32Array(length).map((_, n) => n), new Uint32Array(length)];
  for (let start = 0; start < length; start += ROWS_A_RUN) {
    const wait = pause();
    if (wait) yield wait;
    from.subarray(start, start + ROWS_A_RUN).sort(compare);
  }
  for (let width = ROWS_A_RUN; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(start + 2 * width, length);
      let [left, right] = [start, middle];
      for (let at = start; at < end; at += 1) {
        const wait = at % ROWS_A_RUN === 0 ? pause() : null;
        if (wait) yield wait;
        const [a, b] = [from[left] as number, from[right] as number];
        const isLeft = left < middle && (right >= end || compare(a, b) < 0);
        to[at] = isLeft ? a : b;
        if (isLeft) left += 1;
        else right += 1;
      }
    }
    [from, to] = [to, from];
  }
  return from;
}
