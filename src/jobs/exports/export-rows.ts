import type { GraphQLFormattedError } from 'graphql';
import { isObject } from '../../storage/json.ts';
import { decodeCursor } from '../../upstream/lists/cursor.ts';
import type { JobResult } from '../job-operations.ts';
import { added, type ExportDocument } from './export-document.ts';

/** A row of the list, as a line of the output. */
export interface ExportedRow {
  /** The members of the row, as they were selected. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The errors of its members, with paths from the row. */
  readonly errors: readonly GraphQLFormattedError[];
}

/** What a step has found. */
export interface StepRows {
  /** The rows that were not exported before, and their identities in the list. */
  readonly rows: readonly ExportedRow[];
  readonly identities: readonly string[];
  /** The cursor of the last row; `null` without rows. */
  readonly last: string | null;
  /** Whether it was the last step. */
  readonly isLast: boolean;
  /** The number of rows of the list; `null` if it is unknown. */
  readonly total: number | null;
}

/**
 * Reads the rows of a response. `isKnown`: whether a row was exported before.
 * @throws TypeError if the data has no list.
 */
export function rowsOfStep(
  { root }: Pick<ExportDocument, 'root'>,
  { data, errors }: Pick<JobResult, 'data' | 'errors'>,
  isKnown: (identity: string) => boolean,
): StepRows {
  const list = data?.[root];
  const nodes = isObject(list) && list[added.rows];
  if (!isObject(list) || !Array.isArray(nodes)) throw new TypeError('the list is missing');
  const cursors = list[added.cursors] as readonly { readonly cursor: string }[];
  const page = list[added.page];
  const total = list[added.total];
  const rows = new Map<string, ExportedRow>();
  for (const [place, node] of nodes.entries()) {
    const { identity } = decodeCursor(cursors[place]?.cursor ?? '', 'after');
    if (isKnown(identity) || rows.has(identity)) continue;
    const members = isObject(node) ? node : {};
    rows.set(identity, { members, errors: errorsAt(errors, [root, added.rows, place]) });
  }
  return {
    rows: [...rows.values()],
    identities: [...rows.keys()],
    last: cursors.at(-1)?.cursor ?? null,
    isLast: !(isObject(page) && page['hasNextPage'] === true),
    total: typeof total === 'number' ? total : null,
  };
}

/** The errors of a row, with paths from there. */
function errorsAt(
  all: readonly GraphQLFormattedError[],
  row: readonly (string | number)[],
): GraphQLFormattedError[] {
  return all
    .filter(({ path = [] }) => row.every((each, place) => path[place] === each))
    .map((error) => ({ ...error, path: error.path?.slice(row.length) ?? [] }));
}
