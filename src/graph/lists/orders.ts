import type { SortValue } from '../../upstream/lists/views/view.ts';
import type { Row } from '../../upstream/request.ts';

/** One of the values by which a list can be sorted, and what it is. */
export interface OrderField<R extends Row> {
  readonly description: string;
  value(row: R): SortValue;
}

/** The members of a row with values of a type, or null. */
type MembersOf<R, T> = {
  [M in keyof R]-?: R[M] extends T | null | undefined ? M : never;
}[keyof R];

/** By a text, without regard to case and accents. */
export function byText<R extends Row>(
  member: MembersOf<R, string>,
  description: string,
): OrderField<R> {
  const value = (row: R): SortValue => {
    const text = row[member] as string | null | undefined;
    return text == null ? null : sortKey(text);
  };
  return { description, value };
}

/** By a number, or by a flag: false before true. */
export function byNumber<R extends Row>(
  member: MembersOf<R, number | boolean>,
  description: string,
): OrderField<R> {
  const value = (row: R): SortValue => {
    const found = row[member] as number | boolean | null | undefined;
    return found == null ? null : Number(found);
  };
  return { description, value };
}

/** By a time or a date, the earliest first. */
export function byTime<R extends Row>(
  member: MembersOf<R, string>,
  description: string,
): OrderField<R> {
  // All times have the same format, which sorts as they do.
  return { description, value: (row) => (row[member] as string | null | undefined) ?? null };
}

/** By the upstream's integer id. */
export const byId: OrderField<Row> = {
  description: 'The upstream’s integer ID, usually in the order of creation.',
  value: ({ id }) => id,
};

/** A text as searches and filters compare it: without case, and without differences that are not visible. */
export function fold(text: string | null | undefined): string {
  return text?.trim().normalize('NFKC').toLowerCase() ?? '';
}

/**
 * A text as it is sorted: also without accents, so that `É` is next to `e`. It depends on no locale, so that all
 * machines sort alike.
 */
function sortKey(text: string): string {
  return fold(text)
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '');
}
