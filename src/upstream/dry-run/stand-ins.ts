import { type Resource, standInOf } from '../../resources.ts';
import { DecodeError } from '../decode/fields.ts';
import type { KeyedRead, Page, Row, Write } from '../request.ts';

/** A value that every field accepts, because after a failed field its siblings would not be counted. */
const LARGEST_ID = 2 ** 31 - 1;

/** The rows that the id of a placeholder represents. */
interface StandIn {
  /** Name of the rows: equal for the first ten and the first twenty of a list. */
  readonly group: string;
  /** Their number, over all parents. */
  readonly rows: number;
}

/**
 * The placeholders of a dry run. One row represents all unknown rows of a window: a row for each of hundreds would
 * lead to hundreds of reads each.
 */
export class StandIns {
  readonly #standIns = new Map<number, StandIn>();
  readonly #ids = new Map<string, number>();
  /** The placeholders by key, so that equal reads get the same one. */
  readonly #answers = new Map<string, unknown>();
  #written = 0;

  /** The placeholder for the response to a read: the same at each call. */
  answerTo<T>({ key, read }: KeyedRead<T>): T {
    const { about, absentIsNull, page, resource } = read;
    const group = this.nameOf(key, about);
    const idFor = (rows = 1) => this.idFor(group, rows * this.rowsOf(about));
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      if (page) answer = pageOf((rows) => madeUpRow(resource, idFor(rows)));
      else if (absentIsNull && !standInOf(resource, 0)) answer = null;
      else answer = madeUpRow(resource, about ?? idFor(), idFor());
      this.#answers.set(key, answer);
    }
    return answer as T;
  }

  /** The smallest possible response to a write: nothing, or the id of a new row. */
  answerToWrite<T>(write: Write<T>): { readonly value: T } | undefined {
    this.#written += 1;
    const id = this.idFor(`written ${this.#written}`, 1);
    for (const body of [{}, { id }]) {
      try {
        return { value: write.decode(body, { timeZone: 'UTC', surprise: () => {} }) };
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
      }
    }
    return undefined;
  }

  /** An id from the end of the range that the graph can return, which no upstream has reached. */
  idFor(group: string, rows: number): number {
    const name = `${rows} of ${group}`;
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = LARGEST_ID - this.#ids.size - 1;
    this.#ids.set(name, id);
    this.#standIns.set(id, { group, rows });
    return id;
  }

  /** Number of rows that a row represents: 1 unless it is a placeholder. */
  rowsOf(id: number | undefined): number {
    return this.#find(id)?.rows ?? 1;
  }

  /** The name under which a read about a row is counted: equal for placeholders of overlapping rows. */
  nameOf(key: string, about: number | undefined): string {
    const standIn = this.#find(about);
    return standIn ? key.replace(String(about), () => `(${standIn.group})`) : key;
  }

  #find(id: number | undefined): StandIn | undefined {
    return id === undefined ? undefined : this.#standIns.get(id);
  }
}

/**
 * A row of which only the id is set, and the members that further reads depend on: with `linked` where it refers
 * to other rows. All other members are null.
 */
export function madeUpRow(resource: Resource, id: number, linked = id): Row {
  const known: Row = { ...standInOf(resource, linked), id };
  return new Proxy(known, {
    // An object with `then` would be treated as a promise.
    get: (row, name) =>
      name in row || name === 'then' || typeof name === 'symbol' ? Reflect.get(row, name) : null,
  });
}

/** An unknown page; `placeholder` makes a row that represents a number of them. */
function pageOf(placeholder: (rows: number) => Row): Page<Row> {
  const unknown = { total: null, perPage: null, currentPage: null, nextPage: null, maxPage: null };
  return { ...unknown, rows: [], sent: 0, placeholder };
}
