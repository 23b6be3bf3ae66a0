import type { EnumRef, InputRef } from '@pothos/core';
import type { ListOrder, ListView } from '../../upstream/lists/views/view.ts';
import type { Row } from '../../upstream/request.ts';
import { builder, type SchemaTypes } from '../builder.ts';
import { enumOf } from '../fields.ts';
import type { ArgBuilder, Args, Given, ListFilter } from './filters.ts';
import { fold, type OrderField } from './orders.ts';

/** What a list can be searched for, filtered by and sorted by. */
export interface ListTableOptions<R extends Row> {
  /** The rows in the plural, e.g. `QR codes`. */
  readonly rows: string;
  /**
   * Whether the upstream returns the list in pages, all of which are then read.
   * @default true
   */
  readonly paged?: boolean;
  /** The texts that a search looks into, and their names in a sentence; absent for a list that has no search here. */
  readonly search?: {
    readonly in: string;
    texts(row: R): readonly (string | null)[];
  };
  readonly order: Readonly<Record<string, OrderField<R>>>;
  readonly filters?: readonly ListFilter<R>[];
}

const OrderDirectionRef = enumOf(
  'OrderDirection',
  'The direction of an order. Items without a value come last in both. Costs the same in both.',
  {
    ASC: 'The smallest, earliest or alphabetically first value first. Costs nothing itself.',
    DESC: 'The largest, latest or alphabetically last value first. Costs nothing itself.',
  },
);

/** A value of an order argument. */
interface GivenOrder {
  readonly field: string;
  readonly direction: 'ASC' | 'DESC';
}

/** The arguments by which a list is searched, filtered and sorted, and the view that their values make. */
export interface ListTable<R extends Row> {
  args(arg: ArgBuilder): Args;
  /**
   * The view that some arguments request; null for the whole list in its own order. No upstream request.
   * @throws BadUserInput
   */
  view(given: Given): ListView<R> | null;
}

/** Makes the arguments of a list whose items are of a type, and adds the types that they need to the graph. */
export function listTable<R extends Row>(
  typename: string,
  { filters = [], order, paged = true, rows, search }: ListTableOptions<R>,
): ListTable<R> {
  const cost = paged
    ? 'Costs 1 upstream request for each uncached page of the list.'
    : 'Costs no extra upstream request.';
  const OrderRef = orderInput(typename, rows, order, cost);
  return {
    args: (arg) => ({
      ...(search && {
        search: arg.string({
          description: `Only ${rows} that contain all these words in ${search.in}. Not case-sensitive. ${cost}`,
        }),
      }),
      orderBy: arg({
        type: OrderRef,
        description: `Order of the list. Defaults to the order of the API, which also applies to equal values. ${cost}`,
      }),
      ...Object.assign({}, ...filters.map((each) => each.args(arg, cost))),
    }),
    view(given) {
      // Most lists are requested as they are.
      const isPlain = Object.keys(given).every((name) => WINDOW.has(name) || given[name] == null);
      if (isPlain) return null;
      const tests = filters.map((each) => each.test(given));
      const words = wordsOf(search && given['search']);
      if (search && words.length > 0) tests.push(containing(words, (row) => search.texts(row)));
      const active = tests.filter((test) => test !== null);
      const sorted = orderOf(given['orderBy'], order);
      if (active.length === 0 && !sorted) return null;
      const filter = active.length > 0 ? (row: R) => active.every((test) => test(row)) : undefined;
      return { key: keyOf(given, words), filter, order: sorted };
    },
  };
}

function orderInput<R extends Row>(
  typename: string,
  rows: string,
  order: ListTableOptions<R>['order'],
  cost: string,
): InputRef<GivenOrder> {
  const FieldRef: EnumRef<SchemaTypes, string> = builder.enumType(`${typename}OrderField`, {
    description: `A value by which ${rows} are sorted. Texts are sorted without regard to case and accents, in all languages alike. ${cost}`,
    values: Object.fromEntries(
      Object.entries(order).map(([name, { description }]) => [
        name,
        { description: `${description} Costs the same as any other order.` },
      ]),
    ),
  });
  return builder.inputType(`${typename}Order`, {
    description: `An order of ${rows}. ${cost}`,
    fields: (t) => ({
      field: t.field({
        type: FieldRef,
        required: true,
        description: `The value to sort by. ${cost}`,
      }),
      direction: t.field({
        type: OrderDirectionRef,
        required: true,
        defaultValue: 'ASC',
        description: 'Ascending or descending. Costs the same in both directions.',
      }),
    }),
  });
}

function orderOf<R extends Row>(
  given: unknown,
  order: ListTableOptions<R>['order'],
): ListOrder<R> | undefined {
  if (given == null) return undefined;
  const { direction, field } = given as GivenOrder;
  const chosen = order[field];
  if (!chosen) throw new TypeError(`there is no order ${field}`);
  return { descending: direction === 'DESC', value: (row) => chosen.value(row) };
}

function wordsOf(search: unknown): readonly string[] {
  return fold(search as string | null | undefined)
    .split(/\s+/)
    .filter(Boolean);
}

function containing<R extends Row>(
  words: readonly string[],
  texts: (row: R) => readonly (string | null)[],
): (row: R) => boolean {
  return (row) => {
    const text = texts(row).map(fold).join('\n');
    return words.every((word) => text.includes(word));
  };
}

/** Arguments that choose a part of a view, and not the view. */
const WINDOW = new Set(['after', 'before', 'first', 'last', 'offset']);

/** The same text for equal arguments. Others can have different texts and the same view. */
function keyOf(given: Given, words: readonly string[]): string {
  const entries = Object.entries(given).filter(
    ([name, value]) => value != null && name !== 'search' && !WINDOW.has(name),
  );
  return JSON.stringify([words, ...entries.sort(([a], [b]) => (a < b ? -1 : 1))]);
}
