import { BoundedMap } from '../../../bounded-map.ts';
import type { ListEnd } from './evidence-lists.ts';

/** Lists of which ids are remembered. */
const MOST_LISTS = 2000;
/** Created rows of a list that are remembered. */
const MOST_CREATED = 1000;
/** After this time, in milliseconds, other clients may have created too many rows since. */
const LONGEST_MS = 900_000;

/** The ids of one list, whatever its filters. */
interface ListIds {
  /** The highest id of a row at a time; `null` if there was no row. */
  highest: number | null;
  /** `-Infinity` if no id is known. */
  at: number;
  /** The page on which new rows appear, as far as it is known. */
  page: number;
  /** Whether new rows have higher ids. */
  isOrdered: boolean;
  /** Rows that confirmed writes have created, the latest last. */
  readonly created: Set<number>;
}

/**
 * Ids of existing rows that this process has seen, from which new rows are distinguished, and the ends of lists. Costs no
 * upstream request. Times are on `Records.now`.
 */
export class KnownRows {
  readonly #lists = new BoundedMap<ListIds>({ max: MOST_LISTS });

  /** Ids that certainly exist now, at least the highest; `null` if they are not known. */
  baseline(list: string, now: number): readonly number[] | null {
    const known = this.#lists.get(list);
    if (!known?.isOrdered || now - known.at > LONGEST_MS) return null;
    return known.highest === null ? [] : [known.highest];
  }

  /** The page on which new rows appear, as far as it is known. */
  pageOf(list: string): number {
    return this.#lists.get(list)?.page ?? 1;
  }

  /** Rows exist up to the end of a list. */
  seen(list: string, { highest, page }: ListEnd, now: number): void {
    const ids = this.#of(list);
    ids.page = Math.max(ids.page, page);
    if (highest !== null) ids.highest = Math.max(ids.highest ?? highest, highest);
    ids.at = now;
  }

  /** A write has created a row; `baseline` is what existed before. */
  created(
    list: string,
    { baseline, id }: { readonly baseline: readonly number[] | null; readonly id: number },
    now: number,
  ): void {
    const ids = this.#of(list);
    ids.highest = Math.max(ids.highest ?? id, id);
    ids.at = now;
    if (baseline?.some((each) => each >= id)) ids.isOrdered = false;
    ids.created.add(id);
    const [oldest] = ids.created;
    if (ids.created.size > MOST_CREATED && oldest !== undefined) ids.created.delete(oldest);
  }

  /** Whether a row is the result of another write. */
  isOfAnother(list: string, id: number): boolean {
    return this.#lists.peek(list)?.created.has(id) ?? false;
  }

  #of(list: string): ListIds {
    const known = this.#lists.get(list);
    if (known) return known;
    const at = Number.NEGATIVE_INFINITY;
    const ids = { highest: null, at, page: 1, isOrdered: true, created: new Set<number>() };
    this.#lists.set(list, ids);
    return ids;
  }
}
