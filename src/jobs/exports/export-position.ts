import { type ExportDocument, windowVariables } from './export-document.ts';

/** A connection that is being walked. */
export interface WalkedLevel {
  /** Its number in `ExportDocument.connections`. */
  readonly connection: number;
  /** The row that contains it, by its identity in its list; `null` for the first connection. */
  readonly row: string | null;
  /** The cursor of the last row that is complete; `null` before the first one. */
  after: string | null;
}

/**
 * How far an export is: the first connection and, within the row that follows its cursor, the connection of that row
 * that is being walked, and so on. The line of such a row is written, its connections are not complete.
 */
export type ExportPosition = readonly [WalkedLevel, ...WalkedLevel[]];

/** The position before the first row. */
export const START: ExportPosition = [{ connection: 0, row: null, after: null }];

/** Maximum number of rows of the first connection in one step. */
const MOST_ROWS_OF_STEP = 100;
/** Numbers of rows by depth, for documents with connections up to that depth: together about 1000 rows. */
const WINDOWS: readonly (readonly number[])[] = [
  [MOST_ROWS_OF_STEP],
  [20, 50],
  [5, 10, 20],
  [3, 5, 8, 8],
];
/** For deeper ones. */
const DEEPER = [2, 3, 5, 5];

/** Number of rows of the first connection in a step, by the depth of the document. */
export function mostRowsOf({ connections }: ExportDocument): number {
  return windowsOf(connections)[0] ?? 1;
}

function windowsOf(connections: ExportDocument['connections']): readonly number[] {
  const depth = Math.max(...connections.map((each) => each.depth));
  return WINDOWS[depth] ?? DEEPER;
}

/**
 * The variables of the next step: `rows` rows of the connection that is being walked, and the rows around it, which were
 * read before.
 */
export function variablesOf(
  { connections }: ExportDocument,
  position: ExportPosition,
  rows: number,
): Record<string, number | string | null> {
  const windows = windowsOf(connections);
  const variables: Record<string, number | string | null> = {};
  for (const [index, { depth, within }] of connections.entries()) {
    const { first, after } = windowVariables(index);
    const at = position.findIndex((level) => level.connection === index);
    const next = position[at + 1];
    if (at >= 0) {
      variables[first] = next ? 1 : rows;
      variables[after] = position[at]?.after ?? null;
    } else {
      // The connections of the same row that are complete.
      const level = position.find((each) => connections[each.connection]?.within === within);
      const isComplete = level !== undefined && index < level.connection;
      variables[first] = isComplete ? 0 : (windows[depth] ?? 5);
      variables[after] = null;
    }
  }
  return variables;
}
