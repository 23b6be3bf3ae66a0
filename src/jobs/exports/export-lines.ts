import { type GraphQLSchema, getNamedType, isCompositeType, Kind } from 'graphql';
import { csvLine } from '../../storage/csv.ts';
import { contentOf, type ExportDocument, hasList, responseName } from './export-document.ts';
import type { ExportedRow } from './export-rows.ts';

/** The formats of the output of an export. */
const exportFormats = ['JSONL', 'CSV'] as const;

/** One of `exportFormats`. */
export type ExportFormat = (typeof exportFormats)[number];

/** Writes the rows of an export as lines. */
export interface LineWriter {
  /** Before the first row; empty if there is nothing. */
  readonly head: string;
  line(row: ExportedRow): string;
}

/** Creates the writer of a format. */
export function lineWriter(
  format: ExportFormat,
  document: ExportDocument,
  schema: GraphQLSchema,
): LineWriter {
  return format === 'JSONL' ? jsonLines : csvLines(columnsOf(schema, document, document.row));
}

/** A line for each row, with its members in their order. A row with errors has `__errors`. */
const jsonLines: LineWriter = {
  head: '',
  line: ({ errors, members }) =>
    `${JSON.stringify({ ...members, ...(errors.length > 0 && { __errors: errors }) })}\n`,
};

/** A column of a table: the response names from a row to a value. */
type Column = readonly string[];

/** A table in UTF-8, with a header. */
function csvLines(columns: readonly Column[]): LineWriter {
  const withErrors = [...columns.map((column) => column.join('.')), '__errors'];
  return {
    head: csvLine(withErrors),
    line: ({ errors, members }) => {
      const values = columns.map((column) => valueAt(members, column));
      return csvLine([...values, errors.length > 0 ? errors : null]);
    },
  };
}

/** The leaves of a selection, in its order; a list is one column. */
function columnsOf(
  schema: GraphQLSchema,
  document: Pick<ExportDocument, 'fragments'>,
  { selections: { selections }, type }: ExportDocument['row'],
  prefix: Column = [],
): Column[] {
  const columns = new Map<string, Column>();
  const add = (row: ExportDocument['row'], within: Column): void => {
    for (const each of columnsOf(schema, document, row, within)) columns.set(each.join('.'), each);
  };
  for (const each of selections) {
    if (each.kind !== Kind.FIELD) {
      const { selectionSet, typeCondition } = contentOf(each, document.fragments);
      const named = typeCondition && schema.getType(typeCondition.name.value);
      const own = named && isCompositeType(named) ? named : type;
      add({ type: own, selections: selectionSet }, prefix);
      continue;
    }
    const column = [...prefix, responseName(each)];
    const definition = 'getFields' in type ? type.getFields()[each.name.value] : undefined;
    const named = definition && getNamedType(definition.type);
    const isObject = definition && named && isCompositeType(named) && !hasList(definition);
    if (isObject && each.selectionSet) add({ type: named, selections: each.selectionSet }, column);
    else columns.set(column.join('.'), column);
  }
  return [...columns.values()];
}

function valueAt(members: unknown, column: Column): unknown {
  return column.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    members,
  );
}
