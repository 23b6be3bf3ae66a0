import { isPresent } from '../upstream/decode/fields.ts';
import type { Creation, Known, List, Repeatable, Row } from '../upstream/request.ts';
import type { Comparison, Likeness } from './likeness.ts';

/** The members that a write gives to a row of a list; `null` or absent for the others. */
type GivenInput<R extends Row> = { readonly [InputMember in keyof R]?: Comparison | null };

/** A write whose second request has the same effect as the first. */
export const repeatable: Repeatable<never> = { kind: 'repeatable' };

/** The same for a write whose second request can be refused because the first has set or added the thing. */
export const refusedAgain: Repeatable<never> = { kind: 'repeatable', refusedAgain: () => null };

interface CreationTraits<R extends Row> {
  /** When a row was created, if the list provides it. */
  readonly createdAt?: (row: R) => string | null;
  /** The member of which the API allows no second row with the given value; `null` or absent if there is none. */
  readonly unique?: keyof R | null;
}

/** The evidence of a write that adds a row with these members to a list. */
export function creation<R extends Row>(
  list: List<R>,
  given: GivenInput<R>,
  { createdAt, unique = null }: CreationTraits<R> = {},
): Creation<Known<R>> {
  const members = membersOf(given, unique);
  const likeness = (row: Row) => likenessOf(row as R, members);
  const { key = '' } = members.find(({ comparison }) => comparison.key)?.comparison ?? {};
  return {
    kind: 'creation',
    list,
    content: `${list.path} ${key}`,
    matches: (row) => likeness(row) === 'equal',
    resembles: (row) => likeness(row) !== 'different',
    ...(createdAt ? { createdAt: (row: Row) => createdAt(row as R) } : {}),
    isUnique: unique !== null,
    valueOf: (row) => row as R,
  };
}

interface InputMember<R extends Row> {
  readonly name: keyof R;
  readonly comparison: Comparison;
  /** Whether its value says which row it is. */
  readonly identifies: boolean;
}

function membersOf<R extends Row>(given: GivenInput<R>, unique: keyof R | null): InputMember<R>[] {
  const entries = Object.entries(given) as [string & keyof R, Comparison | null][];
  return entries.flatMap(([name, comparison]) => {
    if (!comparison) return [];
    const identifies = comparison.key !== undefined && (unique === null || unique === name);
    return [{ name, comparison, identifies }];
  });
}

/**
 * Compares a row to what was given. A member that the list does not provide does not speak against it, but without one
 * that says which row it is, no row is equal.
 */
function likenessOf<R extends Row>(row: R, members: readonly InputMember<R>[]): Likeness {
  const known = members.filter(({ name }) => isPresent(row[name]));
  const found = known.map(({ name, comparison }) => comparison.compare(row[name]));
  if (found.includes('different')) return 'different';
  const isIdentified = known.some(({ identifies }) => identifies);
  return isIdentified && !found.includes('similar') ? 'equal' : 'similar';
}
