import type { KeyedRead } from '../cache/key.ts';
import { DecodeError } from '../decode/row-reader.ts';
import type { Write } from '../request.ts';

/** One that no field refuses to show: a field that fails would leave those beside it uncounted. */
const LARGEST_ID = 2 ** 31 - 1;

/** What an id of a made-up row stands for. */
interface StandIn {
  /** Which rows: the same name for the first ten and the first twenty of a list. */
  readonly group: string;
  /** How many, over all their parents. */
  readonly rows: number;
}

/**
 * The ids of made-up rows. One such row stands for all those of a window that are not known, so that a dry
 * run makes up one where an answer would bring hundreds, each of which would lead to hundreds again.
 */
export class StandIns {
  readonly #standIns = new Map<number, StandIn>();
  readonly #ids = new Map<string, number>();
  /** What was made up, by key, so that the same question has the same answer. */
  readonly #answers = new Map<string, unknown>();
  #written = 0;

  /** Makes an answer to a read up; `undefined` where nothing can stand in for one. */
  answerTo<T>({
    key,
    read,
  }: KeyedRead<T>): { readonly value: T; readonly isPage: boolean } | undefined {
    if (!read.placeholder) return undefined;
    const group = this.nameOf(key, read.about);
    const parents = this.rowsOf(read.about);
    const idFor = (rows = 1) => this.idFor(group, rows * parents);
    const value = (this.#answers.get(key) ?? read.placeholder(idFor)) as T;
    this.#answers.set(key, value);
    const isPage = typeof value === 'object' && value !== null && 'placeholder' in value;
    return { value, isPage };
  }

  /** What a write would answer that says no more than it must: nothing, or the id of a new row. */
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

  /** An id from the end of what the graph can show, where no upstream has got to. */
  idFor(group: string, rows: number): number {
    const name = `${rows} of ${group}`;
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = LARGEST_ID - this.#ids.size - 1;
    this.#ids.set(name, id);
    this.#standIns.set(id, { group, rows });
    return id;
  }

  /** How many rows a row stands for: 1 for one that is not made up. */
  rowsOf(id: number | undefined): number {
    return this.#find(id)?.rows ?? 1;
  }

  /** What a read about a row is counted under: the same for stand-ins of overlapping rows. */
  nameOf(key: string, about: number | undefined): string {
    const standIn = this.#find(about);
    return standIn ? key.replace(String(about), () => `(${standIn.group})`) : key;
  }

  #find(id: number | undefined): StandIn | undefined {
    return id === undefined ? undefined : this.#standIns.get(id);
  }
}
