import type { ArgBuilder as AnyArgBuilder, EnumRef } from '@pothos/core';
import { BadUserInput } from '../../errors.ts';
import type { Row } from '../../upstream/request.ts';
import { builder, type SchemaTypes } from '../builder.ts';
import { fold } from './orders.ts';

/** Makes the arguments of a field. */
export type ArgBuilder = AnyArgBuilder<SchemaTypes>;
/** Arguments of a field, by name. */
export type Args = Record<string, ReturnType<ArgBuilder>>;
/** Their values. */
export type Given = Readonly<Record<string, unknown>>;

/** Arguments of a list that leave rows out. */
export interface ListFilter<R extends Row> {
  /** The arguments; `cost` is the sentence that each description ends with. */
  args(arg: ArgBuilder, cost: string): Args;
  /**
   * The rows that stay; null if none of the arguments is given. No upstream request.
   * @throws BadUserInput
   */
  test(given: Given): ((row: R) => boolean) | null;
}

/** Rows with the value of an argument. A row without the value is left out whatever the argument is. */
function equal<R extends Row>(
  name: string,
  of: (row: R) => unknown,
  args: (arg: ArgBuilder, cost: string) => ReturnType<ArgBuilder>,
): ListFilter<R> {
  return {
    args: (arg, cost) => ({ [name]: args(arg, cost) }),
    test: ({ [name]: wanted }) => (wanted == null ? null : (row) => of(row) === wanted),
  };
}

/** Rows with a flag that is set, or not. */
export function flagFilter<R extends Row>(
  name: string,
  of: (row: R) => boolean | null | undefined,
  description: string,
): ListFilter<R> {
  return equal(name, of, (arg, cost) => arg.boolean({ description: `${description} ${cost}` }));
}

/** Rows with a value of an enum. */
export function choiceFilter<R extends Row, V extends string>(
  name: string,
  type: EnumRef<SchemaTypes, V>,
  of: (row: R) => V | null | undefined,
  description: string,
): ListFilter<R> {
  return equal(name, of, (arg, cost) => arg({ type, description: `${description} ${cost}` }));
}

/** Rows that have a text, in any case, among some of theirs. A blank text leaves none out. */
export function textFilter<R extends Row>(
  name: string,
  of: (row: R) => readonly (string | null)[],
  description: string,
): ListFilter<R> {
  return {
    args: (arg, cost) => ({ [name]: arg.string({ description: `${description} ${cost}` }) }),
    test: ({ [name]: given }) => {
      const wanted = fold(given as string | null | undefined);
      return wanted === '' ? null : (row) => of(row).some((text) => fold(text) === wanted);
    },
  };
}

const DateTimeRangeRef = builder.inputType('DateTimeRange', {
  description:
    'A range of times, both ends included. Costs 1 upstream request for each uncached page of the list that it filters.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: `The earliest time. ${openEnd()}` }),
    to: t.field({ type: 'DateTime', description: `The latest time. ${openEnd()}` }),
  }),
});

const DateRangeRef = builder.inputType('DateRange', {
  description:
    'A range of dates, both ends included. Costs 1 upstream request for each uncached page of the list that it filters.',
  fields: (t) => ({
    from: t.field({ type: 'Date', description: `The first date. ${openEnd()}` }),
    to: t.field({ type: 'Date', description: `The last date. ${openEnd()}` }),
  }),
});

function openEnd(): string {
  return 'If omitted or null, this end is open. Costs as much as the whole range.';
}

/** Rows with a time, or a day, in a range. */
function rangeFilter<R extends Row>(
  name: string,
  type: typeof DateTimeRangeRef | typeof DateRangeRef,
  of: (row: R) => string | null,
  description: string,
): ListFilter<R> {
  return {
    args: (arg, cost) => ({ [name]: arg({ type, description: `${description} ${cost}` }) }),
    test: ({ [name]: given }) => {
      const { from, to } = (given ?? {}) as typeof DateTimeRangeRef.$inferInput;
      if (from != null && to != null && from > to) {
        throw new BadUserInput(`"from" of "${name}" must not be later than "to".`);
      }
      return inRange(of, from, to);
    },
  };
}

/** Rows with a time in a range. */
export function timeFilter<R extends Row>(
  name: string,
  of: (row: R) => string | null,
  description: string,
): ListFilter<R> {
  return rangeFilter(name, DateTimeRangeRef, of, description);
}

/** Rows with a day in a range. */
export function dayFilter<R extends Row>(
  name: string,
  of: (row: R) => string | null,
  description: string,
): ListFilter<R> {
  return rangeFilter(name, DateRangeRef, of, description);
}

/** Rows with a number from one argument to another. */
export function amountFilter<R extends Row>(
  [least, most]: readonly [string, string],
  of: (row: R) => number | null | undefined,
  [leastText, mostText]: readonly [string, string],
): ListFilter<R> {
  return {
    args: (arg, cost) => ({
      [least]: arg.float({ description: `${leastText} ${cost}` }),
      [most]: arg.float({ description: `${mostText} ${cost}` }),
    }),
    test: (given) => {
      const [from, to] = [given[least], given[most]] as (number | null | undefined)[];
      if (from != null && to != null && from > to) {
        throw new BadUserInput(`"${least}" must not be greater than "${most}".`);
      }
      return inRange(of, from, to);
    },
  };
}

function inRange<R extends Row, V extends string | number>(
  of: (row: R) => V | null | undefined,
  from: V | null | undefined,
  to: V | null | undefined,
): ((row: R) => boolean) | null {
  if (from == null && to == null) return null;
  return (row) => {
    const value = of(row);
    return value != null && (from == null || value >= from) && (to == null || value <= to);
  };
}
