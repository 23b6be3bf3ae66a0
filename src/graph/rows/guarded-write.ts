import { UpstreamRejected } from '../../errors.ts';
import { cachedRow, findFresh } from '../../upstream/lists/find-by-id.ts';
import type { ListSource } from '../../upstream/lists/read-pages.ts';
import type { Known, Row, Write } from '../../upstream/request.ts';
import { Conflict, type Expectation } from '../expectation.ts';

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
