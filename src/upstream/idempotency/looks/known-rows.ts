import { BoundedMap } from '../../../bounded-map.ts';

/** Lists of which ids are remembered. */
const MOST_LISTS = 2000;
/** Created rows of a list that are remembered. */
const MOST_CREATED = 1000;
/** After this time, in milliseconds, other clients may have created too many rows since. */
const LONGEST_MS = 900_000;

/** The list to which a write adds a row, as it was known when the record was written. */
export interface CreatedIn {
  /** See `WriteCall.list`. */
  readonly name: string;
  /** The page on which new rows appeared; `null` if it was not known. */
  readonly page: number | null;
  /** The highest id; `null` if there was no row, or none was known. */
  readonly highest: number | null;
}

/** The ids of one list, whatever its filters. */
interface ListIds {
  /** The highest id of a row at a time; `null` if there was no row. */
  highest: number | null;
  /** `-Infinity` if no id is known. */
  at: number;
  /** The page on which new rows appear; `null` if it is not known. */
  page: number | null;
  /** Whether new rows have higher ids. */
  isOrdered: boolean;
  /** Rows that confirmed writes have created, the latest last. */
  readonly created: Set<number>;
}

/**
 * Ids of existing rows, from which new rows are distinguished, and the ends of lists. Costs no upstream request. Lists are
 * named by `WriteCall.list`, times are on `Records.now`.
 */
export class KnownRows {
  readonly #lists = new BoundedMap<ListIds>({ max: MOST_LISTS });

  /** Ids that certainly exist now, at least the highest; `null` if they are not known. */
  baseline(list: string, now: number): readonly number[] | null {
    const known = this.#lists.get(list);
    if (!known?.isOrdered || Math.abs(now - known.at) > LONGEST_MS) return null;
    return known.highest === null ? [] : [known.highest];
  }

  /** A list, as records have it. */
  place(list: string): CreatedIn {
    const { highest = null, page = null } = this.#lists.get(list) ?? {};
    return { name: list, page, highest };
  }

  /** Rows exist up to the end of a list; `page` is `null` if it is not known. */
  seen(list: string, { highest, page }: Pick<ListIds, 'highest' | 'page'>, now: number): void {
    const ids = this.#of(list);
    ids.page = page ?? ids.page;
    if (highest !== null) ids.highest = Math.max(ids.highest ?? highest, highest);
    ids.at = Math.max(ids.at, now);
  }

  /** A write has created a row; `baseline` is what existed before. */
  created(
    list: string,
    { baseline, id }: { readonly baseline: readonly number[] | null; readonly id: number },
    now: number,
  ): void {
    const ids = this.#of(list);
    ids.highest = Math.max(ids.highest ?? id, id);
    ids.at = Math.max(ids.at, now);
    if (baseline?.some((each) => each >= id)) ids.isOrdered = false;
    ids.created.add(id);
    const [oldest] = ids.created;
    if (ids.created.size > MOST_CREATED && oldest !== undefined) ids.created.delete(oldest);
  }

  /** Whether a row is the result of another write. */
  isOfAnother(list: string, id: number): boolean {
    return this.#lists.peek(list)?.created.has(id) ?? false;
  }

  /** Takes over what a process before, or another replica, knew of a list; `id` is the row that it has created. */
  learn({ highest, name, page }: CreatedIn, id: number | null, at: number): void {
    if (highest !== null) this.seen(name, { highest, page }, at);
    if (id !== null) this.created(name, { baseline: null, id }, at);
  }

  #of(list: string): ListIds {
    const known = this.#lists.get(list);
    if (known) return known;
    const at = Number.NEGATIVE_INFINITY;
    const ids = { highest: null, at, page: null, isOrdered: true, created: new Set<number>() };
    this.#lists.set(list, ids);
    return ids;
  }
}

/** The id of a created row; `null` if the result has none. */
export function idOf(value: unknown): number | null {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'number' ? id : null;
}
