import { BoundedMap } from '../../../bounded-map.ts';
import type { Access } from '../../operation.ts';
import type { List, Row } from '../../request.ts';
import type { EvidenceLists } from './evidence-lists.ts';

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
  at: number;
  /** Whether new rows have higher ids. */
  isOrdered: boolean;
  /** Rows that confirmed writes of this process have created, the latest last. */
  readonly created: Set<number>;
}

/** Ids of existing rows, from which new rows are distinguished. Costs no upstream request. */
export class KnownRows {
  readonly #lists = new BoundedMap<ListIds>({ max: MOST_LISTS });

  /** Ids that certainly exist now, at least the highest; `null` if they are not known. */
  baseline(
    list: List<Row>,
    { access, lists, now }: { access: Access; lists: EvidenceLists; now: number },
  ): readonly number[] | null {
    const { query: _filters, ...whole } = list;
    if (this.#lists.get(keyOf(list, access))?.isOrdered === false) return null;
    const end = lists.cachedEnd(whole, access);
    // A write invalidates the page: the next creation finds the id here.
    if (end) this.seen(list, access, { highest: end.highest, now });
    const known = this.#lists.get(keyOf(list, access));
    if (!known || now - known.at > LONGEST_MS) return null;
    return known.highest === null ? [] : [known.highest];
  }

  /** Rows exist up to an id; `null` if there are none. */
  seen(
    list: List<Row>,
    access: Access,
    { highest, now }: { readonly highest: number | null; readonly now: number },
  ): ListIds {
    const key = keyOf(list, access);
    const ids = this.#lists.get(key) ?? { highest, at: now, isOrdered: true, created: new Set() };
    this.#lists.set(key, ids);
    if (highest !== null) ids.highest = Math.max(ids.highest ?? highest, highest);
    ids.at = now;
    return ids;
  }

  /** A write has created a row; `baseline` is what existed before. */
  created(
    list: List<Row>,
    access: Access,
    { baseline, id, now }: { baseline: readonly number[] | null; id: number; now: number },
  ): void {
    const ids = this.seen(list, access, { highest: id, now });
    if (baseline?.some((each) => each >= id)) ids.isOrdered = false;
    ids.created.add(id);
    const [oldest] = ids.created;
    if (ids.created.size > MOST_CREATED && oldest !== undefined) ids.created.delete(oldest);
  }

  /** Whether a row is the result of another write. */
  isOfAnother(list: List<Row>, access: Access, id: number): boolean {
    return this.#lists.peek(keyOf(list, access))?.created.has(id) ?? false;
  }
}

function keyOf({ path }: Pick<List<Row>, 'path'>, { credential }: Access): string {
  return `${credential.partition} ${path}`;
}
