import type { Row } from '../upstream/request.ts';
import type { InputChecks } from './checks.ts';

/** What a row must be for an update to be sent. */
export interface Expectation<R extends Row> {
  /** Of the row in the graph. */
  readonly typename: string;
  /** The names of the members that are not as expected. */
  readonly differences: (row: R) => readonly string[];
}

/** An update was not sent because the row is not as expected. Mutations return it as `Conflict`. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
  readonly typename: string;
  /** The row as it was read. */
  readonly row: Row;
  readonly differences: readonly string[];

  constructor(typename: string, row: Row, differences: readonly string[]) {
    super(`The object was not changed, because it is not as expected: ${differences.join(', ')}.`);
    this.typename = typename;
    this.row = row;
    this.differences = differences;
  }
}

/** One member that can be compared. */
interface ComparedMember<R extends Row> {
  readonly of: (row: R) => unknown;
  /** The form in which two values are compared: equal forms mean the same to the API. */
  readonly form: (value: unknown) => unknown;
}

/** The members that can be compared, by name, in the order of the type. */
export type ComparedMembers<R extends Row> = Readonly<Record<string, ComparedMember<R>>>;

/** A member that is compared as it is, but texts without the space around them, an empty text as none. */
export function plain<R extends Row>(of: (row: R) => unknown): ComparedMember<R> {
  return { of, form: plainForm };
}

/** A color: `#abc`, `#AABBCC` and `aabbcc` are the same. */
export function color<R extends Row>(of: (row: R) => unknown): ComparedMember<R> {
  return { of, form: colorForm };
}

/** Values of members by name. */
type Values = { readonly [name: string]: unknown };

/**
 * Makes the expectation of a mutation's argument `expected`: `null` that a member has no value, an omitted one any; `null` without
 * the argument.
 */
export function expectationOf<R extends Row>(typename: string, members: ComparedMembers<R>) {
  const names = Object.keys(members);
  const different = (name: string, row: R, value: unknown): boolean => {
    const member = members[name];
    return member !== undefined && member.form(member.of(row)) !== member.form(value);
  };
  return (checks: InputChecks, expected: Values | null | undefined): Expectation<R> | null => {
    if (!expected) return null;
    checks.of('expected').anyPresent(names, expected);
    const compared = names.filter((name) => expected[name] !== undefined);
    return {
      typename,
      differences: (row) => compared.filter((name) => different(name, row, expected[name])),
    };
  };
}

function plainForm(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? null;
  return value.trim() || null;
}

function colorForm(value: unknown): unknown {
  const text = plainForm(value);
  if (typeof text !== 'string') return text;
  const digits = /^#?([\da-f]{3}|[\da-f]{6})$/i.exec(text)?.[1]?.toUpperCase();
  if (digits === undefined) return text;
  return `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`;
}
