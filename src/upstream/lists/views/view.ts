import type { Row } from '../../request.ts';

/** A value that rows are sorted by. Texts are compared by code units; null comes last in both directions. */
export type SortValue = string | number | null;

/** The order of a view. Rows with equal values stay in the order of the list. */
export interface ListOrder<R extends Row> {
  readonly descending: boolean;
  value(row: R): SortValue;
}

/**
 * A part of a list in an order of its own. It is made of all pages of the list, and is walked over as one page that
 * is the whole list.
 */
export interface ListView<R extends Row> {
  /** Equal for views that have the same rows of the same list in the same order. */
  readonly key: string;
  readonly filter?: ((row: R) => boolean) | undefined;
  readonly order?: ListOrder<R> | undefined;
}

/** The order of two values. Negative if `a` comes first. */
export function compareValues(a: SortValue, b: SortValue, descending: boolean): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b === descending ? 1 : -1;
}

/** Characters of a text that a cursor contains. Rows are told apart by their identity where that is too few. */
const CURSOR_TEXT = 64;

/** A value as a cursor contains it: short, and in the same order. */
export function shortValue(value: SortValue): SortValue {
  return typeof value === 'string' ? value.slice(0, CURSOR_TEXT) : value;
}

/**
 * The indices between which the sort values of `rows`, which are in their order, equal a value as a cursor contains
 * it; both are the same if none does. O(log n).
 */
export function runOf<R extends Row>(
  rows: readonly R[],
  order: ListOrder<R>,
  value: SortValue,
): { readonly from: number; readonly to: number } {
  const first = (isThere: (comparison: number) => boolean): number => {
    let [from, to] = [0, rows.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const own = shortValue(order.value(rows[middle] as R));
      if (isThere(compareValues(own, value, order.descending))) to = middle;
      else from = middle + 1;
    }
    return from;
  };
  return {
    from: first((comparison) => comparison >= 0),
    to: first((comparison) => comparison > 0),
  };
}
