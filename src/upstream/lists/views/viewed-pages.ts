import { type AtOnce, andThen, type Steps, takeSteps, until } from '../../../scheduling/at-once.ts';
import type { Row } from '../../request.ts';
import { type ListPage, WHOLE, wholePage } from '../page/list-page.ts';
import type { ReadPages, WalkedPages } from '../read-pages.ts';
import { type Examiner, selectRows } from './select-rows.ts';
import { type ListView, runOf, type SortValue, shortValue } from './view.ts';

/** A view of a list as one page that is the whole list. */
export class ViewedPages<R extends Row> implements WalkedPages<R> {
  readonly #pages: ReadPages<R>;
  readonly #view: ListView<R>;
  readonly #examiner: Examiner;
  #whole: ListPage<R> | null = null;
  readonly perPage = WHOLE;
  readonly pageSize = WHOLE;
  readonly lastPage = 1;
  readonly identities: WalkedPages<R>['identities'];
  readonly sortedBy?: (row: R) => SortValue;
  readonly runOf?: NonNullable<WalkedPages<R>['runOf']>;

  constructor(pages: ReadPages<R>, view: ListView<R>, examiner: Examiner) {
    this.#pages = pages;
    this.#view = view;
    this.#examiner = examiner;
    this.identities = pages.identities;
    const { order } = view;
    if (!order) return;
    this.sortedBy = (row) => shortValue(order.value(row));
    this.runOf = ({ sorted }) =>
      sorted ? runOf(this.#whole?.rows ?? [], order, sorted.value) : null;
  }

  get name(): string {
    return this.#pages.name;
  }

  /** Costs one upstream request for each uncached page of the list. */
  *page(number: number): Steps<ListPage<R>> {
    this.#whole ??= yield* this.#make();
    return number === 1 ? this.#whole : { ...this.#whole, number, rows: [] };
  }

  *#make(): Steps<ListPage<R>> {
    const pages = yield* this.#pages.all();
    const rows = yield* until(rowsOf(pages, this.#view, this.identities, this.#examiner));
    return wholePage(rows, { writes: Math.min(...pages.map(({ writes }) => writes)) });
  }

  /** There are no further pages. */
  *ahead(): Steps<void> {
    // Nothing to read.
  }

  get total(): number | null {
    return this.#whole?.total ?? null;
  }

  /** `ReadPages.all` has read them again. */
  forgetOutdated(): boolean {
    return false;
  }
}

/** Views of one list that are remembered; the least recently used is removed first. */
const MOST_VIEWS = 16;

/** The rows of a view: their positions in the list, and themselves for as long as the memory is not needed. */
interface MadeView {
  readonly positions: Uint32Array;
  rows: WeakRef<readonly Row[]>;
}

/** The views of a list, by the rows of its pages when they were made. */
interface Remembered {
  readonly parts: readonly WeakRef<readonly Row[]>[];
  /** Whether no row is known to occur twice. */
  distinct: boolean;
  readonly views: Map<string, AtOnce<MadeView>>;
}

/**
 * By the rows of the first page, so that views are forgotten with it: they take 4 bytes for each row, and keep no row
 * that the cache has forgotten.
 */
const remembered = new WeakMap<readonly Row[], Remembered>();

/** The rows of a view, computed once for the same pages, even if they are requested several times at once. */
function rowsOf<R extends Row>(
  pages: readonly [ListPage<R>, ...ListPage<R>[]],
  view: ListView<R>,
  identities: WalkedPages<R>['identities'],
  examiner: Examiner,
): AtOnce<readonly R[]> {
  const parts = pages.map(({ rows }) => rows);
  const list = rememberedFor(parts, pages.length === 1 && pages[0].distinct === true);
  const { views } = list;
  const known = views.get(view.key);
  if (known) {
    remember(views, view.key, known);
    return andThen(known, (made) => rowsIn(made, parts));
  }
  const rows = joined(parts);
  const selected = takeSteps(selectRows(rows, view, list.distinct ? null : identities, examiner));
  const made = andThen(selected, ({ distinct, positions }): MadeView => {
    list.distinct = distinct;
    const value = { positions, rows: new WeakRef(pick(rows, positions)) };
    remember(views, view.key, value);
    return value;
  });
  if (made instanceof Promise) {
    remember(views, view.key, made);
    made.catch(() => views.delete(view.key));
  }
  return andThen(made, (value) => rowsIn(value, parts));
}

/** The rows of a view that was made of these pages. */
function rowsIn<R extends Row>(made: MadeView, parts: readonly (readonly R[])[]): readonly R[] {
  const kept = made.rows.deref() as readonly R[] | undefined;
  if (kept) return kept;
  const rows = pick(joined(parts), made.positions);
  made.rows = new WeakRef(rows);
  return rows;
}

function rememberedFor(parts: readonly (readonly Row[])[], distinct: boolean): Remembered {
  const [first = []] = parts;
  const known = remembered.get(first);
  const isSame =
    known?.parts.length === parts.length &&
    known.parts.every((part, n) => part.deref() === parts[n]);
  if (isSame) return known;
  const fresh = { parts: parts.map((part) => new WeakRef(part)), distinct, views: new Map() };
  remembered.set(first, fresh);
  return fresh;
}

function remember(views: Remembered['views'], key: string, made: AtOnce<MadeView>): void {
  views.delete(key);
  views.set(key, made);
  const [oldest] = views.keys();
  if (views.size > MOST_VIEWS && oldest !== undefined) views.delete(oldest);
}

/** All rows of some pages. `flat` takes ten times as long. */
function joined<R>(parts: readonly (readonly R[])[]): readonly R[] {
  const [only] = parts;
  return only && parts.length === 1 ? only : ([] as R[]).concat(...parts);
}

function pick<R>(rows: readonly R[], positions: Uint32Array): R[] {
  const picked: R[] = [];
  for (const position of positions) picked.push(rows[position] as R);
  return picked;
}
