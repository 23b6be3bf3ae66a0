import { UpstreamRejected } from '../../errors.ts';
import { cachedRow, findFresh } from '../../upstream/lists/find-by-id.ts';
import type { ListSource } from '../../upstream/lists/read-pages.ts';
import type { Known, Row, Write } from '../../upstream/request.ts';
import type { InputChecks } from '../checks.ts';

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
export interface ComparedMember<R extends Row> {
  readonly of: (row: R) => unknown;
  /**
   * The form in which two values are compared: equal forms mean the same to the API. By default the value as it is, but
   * texts without the space around them, an empty text as none.
   */
  readonly form?: (value: unknown) => unknown;
}

/** Values of members by name. */
export type Values = { readonly [name: string]: unknown };

/**
 * Makes the expectation of a mutation's argument `expected`: `null` that a member has no value, an omitted one any; `null` without
 * the argument.
 */
export function expectationOf<R extends Row>(
  typename: string,
  members: Readonly<Record<string, ComparedMember<R>>>,
) {
  const names = Object.keys(members);
  const different = (name: string, row: R, value: unknown): boolean => {
    const { form = plainForm, of } = members[name] as ComparedMember<R>;
    return form(of(row)) !== form(value);
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

/** A form for colors: `#abc`, `#AABBCC` and `aabbcc` are the same. */
export function colorForm(value: unknown): unknown {
  const text = plainForm(value);
  if (typeof text !== 'string') return text;
  const digits = /^#?([\da-f]{3}|[\da-f]{6})$/i.exec(text)?.[1]?.toUpperCase();
  if (digits === undefined) return text;
  return `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`;
}

/** A row of a list, and the access to read it with. */
interface RowSource<R extends Row> extends ListSource<R> {
  readonly id: number;
}

/**
 * An update that is sent only if its row is as expected, compared while all other writers of the row are excluded. The
 * comparison costs the read of the row if no fresh response with it is cached. The write is rejected with `Conflict` if
 * the row differs, and with `UpstreamRejected` if it does not exist; it is then not sent.
 */
export function guardedWrite<R extends Row>(
  source: RowSource<R>,
  write: Write<Known<R>>,
  expected: Expectation<R>,
): Write<Known<R>> {
  return { ...write, guard: () => compare(source, expected) };
}

async function compare<R extends Row>(
  { access, id, list, lists }: RowSource<R>,
  { typename, differences }: Expectation<R>,
): Promise<void> {
  const { client } = lists;
  const cached = await cachedRow(lists, list, id, access);
  const row = cached ?? (await findFresh(lists, list, id, access));
  // A dry run assumes that an unknown row is as expected.
  if (!cached && access.mode?.kind === 'planned') return;
  if (!row) throw new UpstreamRejected(client.upstream, 'The object does not exist.');
  const differing = differences(row);
  if (differing.length === 0) return;
  if (!access.mode) client.conflicted();
  throw new Conflict(typename, row, differing);
}
