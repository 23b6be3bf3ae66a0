import type { GraphQLFormattedError } from 'graphql';
import { decodeCursor } from '../../upstream/lists/cursor.ts';
import { added, type ExportDocument } from './export-document.ts';
import type { ExportPosition, WalkedLevel } from './export-position.ts';

/** Data of a response. */
type Value = unknown;
type Data = Readonly<Record<string, Value>>;

/** A row of a connection, as a line of the output. */
export interface ExportedRow {
  /** The members of the row, as they were selected, without its connections. */
  readonly members: Data;
  /** Present for a row of a connection within another row. */
  readonly parent?: { readonly id: string; readonly field: string };
  /** The errors of its members, with paths from the row. */
  readonly errors: readonly GraphQLFormattedError[];
}

/** What a step has found. */
export interface StepRows {
  readonly rows: readonly ExportedRow[];
  /** The identities of rows of the first connection that are complete or begun. */
  readonly begun: readonly string[];
  /** Number of rows of the first connection that are complete. */
  readonly completed: number;
  /** Where the next step begins; `null` if the export is complete. */
  readonly next: ExportPosition | null;
}

/** A connection in the data of a response. */
interface FoundConnection {
  readonly index: number;
  readonly data: Data;
  readonly parentId: string;
  /** The path from the data of the response to it. */
  readonly path: readonly (string | number)[];
}

/** Reads the rows of a response, from the position of its step. `isKnown`: whether a row was exported before. */
export class StepReader {
  readonly #document: ExportDocument;
  readonly #errors: readonly GraphQLFormattedError[];
  readonly #levels: WalkedLevel[];
  readonly #isKnown: (identity: string) => boolean;
  readonly #rows: ExportedRow[] = [];
  readonly #begun: string[] = [];
  #completed = 0;

  constructor(
    document: ExportDocument,
    position: ExportPosition,
    errors: readonly GraphQLFormattedError[],
    isKnown: (identity: string) => boolean,
  ) {
    this.#document = document;
    this.#errors = errors;
    this.#isKnown = isKnown;
    this.#levels = position.map((level) => ({ ...level }));
  }

  /** @throws TypeError if the data has no first connection. */
  read(data: Data): StepRows {
    const root = this.#document.root;
    const connection = data[root];
    if (!isObject(connection) || !Array.isArray(connection[added.rows])) {
      throw new TypeError('the list is missing');
    }
    const found = { index: 0, data: connection, parentId: '', path: [root] };
    const isComplete = this.#connection(found, 0);
    return {
      rows: this.#rows,
      begun: this.#begun,
      completed: this.#completed,
      next: isComplete ? null : (this.#levels as unknown as ExportPosition),
    };
  }

  /** Reads a connection at a level; returns whether it is complete. */
  #connection({ data, index, parentId, path }: FoundConnection, at: number): boolean {
    const level = this.#levels[at];
    const rows = data[added.rows];
    if (!level || !Array.isArray(rows)) return true;
    const cursors = data[added.cursors] as readonly { readonly cursor: string }[];
    for (const [place, row] of rows.entries()) {
      const cursor = cursors[place]?.cursor ?? '';
      const { identity } = decodeCursor(cursor, 'after');
      const inner = this.#levels[at + 1];
      if (inner && inner.row !== identity) {
        // The row whose connections were being walked is gone.
        this.#levels.length = at + 1;
        return false;
      }
      const isSeen =
        at === 0 && !inner && (this.#isKnown(identity) || this.#begun.includes(identity));
      if (isObject(row) && !isSeen) {
        const where = [...path, added.rows, place];
        const connections: FoundConnection[] = [];
        const members = this.#membersOf(row, where, connections);
        if (!inner) {
          if (at === 0) this.#begun.push(identity);
          const field = this.#document.connections[index]?.path.join('.') ?? '';
          this.#rows.push({
            members,
            ...(at > 0 && { parent: { id: parentId, field } }),
            errors: this.#errorsOf(where),
          });
        }
        if (!this.#connectionsOf(identity, connections, at)) return false;
      }
      level.after = cursor;
      if (at === 0 && !isSeen) this.#completed += 1;
    }
    const page = data[`${added.page}${index}`];
    return !(isObject(page) && page['hasNextPage'] === true);
  }

  /** Reads the connections of a row; returns whether all are complete. */
  #connectionsOf(row: string, all: readonly FoundConnection[], at: number): boolean {
    const from = this.#levels[at + 1]?.connection ?? 0;
    for (const each of all) {
      if (each.index < from) continue;
      if (this.#levels[at + 1]?.connection !== each.index) {
        this.#levels[at + 1] = { connection: each.index, row, after: null };
      }
      if (!this.#connection(each, at + 1)) return false;
      this.#levels.length = at + 1;
    }
    this.#levels.length = at + 1;
    return true;
  }

  /** The members of an object without what an export has added; its connections are added to a list. */
  #membersOf(
    object: Data,
    path: readonly (string | number)[],
    connections: FoundConnection[],
  ): Data {
    const members: Record<string, Value> = {};
    for (const [name, value] of Object.entries(object)) {
      if (name === added.id) continue;
      const index = isObject(value) ? indexOf(value) : null;
      if (isObject(value) && index !== null) {
        const id = object[added.id];
        const parentId = typeof id === 'string' ? id : '';
        connections.push({ index, data: value, parentId, path: [...path, name] });
      } else if (isObject(value)) {
        members[name] = this.#membersOf(value, [...path, name], connections);
      } else members[name] = value;
    }
    return members;
  }

  /** The errors of a row, without those of the rows of its connections. */
  #errorsOf(row: readonly (string | number)[]): GraphQLFormattedError[] {
    return this.#errors.flatMap(({ path = [], ...error }) => {
      const isWithin = row.every((each, place) => path[place] === each);
      const rest = path.slice(row.length);
      const isOfOther = rest.some((each, at) => each === added.rows && at < rest.length - 1);
      return isWithin && !isOfOther ? [{ ...error, path: rest }] : [];
    });
  }
}

/** The number of a connection that is walked; `null` for any other object. */
function indexOf(value: Data): number | null {
  if (!(added.rows in value)) return null;
  const name = Object.keys(value).find((each) => each.startsWith(added.page));
  return name === undefined ? null : Number(name.slice(added.page.length));
}

function isObject(value: Value): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
