import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import type { Known, List, Row } from '../../upstream/request.ts';
import type { GraphContext } from '../context.ts';

/**
 * Resolves a member of a row: at no cost where it is known, else from the row's list. After a
 * mutation, a member is known when its answer or its input contained it.
 */
export function lazily<R extends Row, Member extends keyof R & string>(
  list: List<R>,
  member: Member,
): (row: Known<R>, args: unknown, context: GraphContext) => AtOnce<R[Member] | null> {
  return (row, _args, { links }) => {
    const known = row[member];
    if (known !== undefined) return known as R[Member];
    return andThen(links.find(list, row.id), (found) => found?.[member] ?? null);
  };
}
