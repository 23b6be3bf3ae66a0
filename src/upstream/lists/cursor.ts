import { BadUserInput } from '../../errors.ts';
import { jsonIn } from '../../storage/json.ts';
import type { SortValue } from './views/view.ts';

/**
 * A position in a list: the identity of its row, its index, and its neighbors. They identify the position after
 * rows were added or deleted, even if its own row was.
 */
export interface Cursor {
  /** The name of the list that it is of, see `WalkedPages.name`. */
  readonly list: string;
  /** 1-based, in pages of `perPage`. */
  readonly page: number;
  /** 0-based, in that page. */
  readonly index: number;
  /** The page size at the time of the cursor. */
  readonly perPage: number;
  /** The row's identity in its list. */
  readonly identity: string;
  /** Identities of the rows before it on its page, the nearest first. */
  readonly before?: readonly string[];
  /** Identities of the rows after it on its page, the nearest first. */
  readonly behind?: readonly string[];
  /** Number of rows of the whole list, if the upstream provided it. */
  readonly total?: number;
  /** In a sorted list, the row's value. See `shortValue`. */
  readonly sorted?: { readonly value: SortValue };
}

/** Maximum number of rows that a cursor names before its own row, and after it. */
export const NEIGHBORS = { before: 12, behind: 12 };

/** What each cursor begins with: the name of its list. */
const OF_LIST = /^([\da-z]{1,16})\/([^]+)$/;
/** A cursor without neighbors: nothing else was known of the row. */
const ALONE = /^c1:(\d{1,9}):(\d{1,9}):(\d{1,9}):(.{1,64})$/;
const AMONG_OTHERS =
  /^c2:(\d{1,9}):(\d{1,9}):(\d{1,9}):(\d{0,9}):([^;,\s]{1,64});([^;\s]{0,780});([^;\s]{0,780})$/;
/** The same in a sorted list: with the value as JSON. */
const SORTED = /^c3:([^\n]{1,400})\n(.+)$/;
/** The largest number that a cursor holds. */
const MAX_NUMBER = 999_999_999;
/** Visible ASCII without the separators of identities. */
const NAMEABLE = /^[!-+\--:<-~]{1,64}$/;

/** The opaque text that clients store and send back. Its length is bounded for any identities. */
export function encodeCursor(cursor: Cursor): string {
  const { list, page, index, perPage, identity } = cursor;
  const total = (cursor.total ?? MAX_NUMBER + 1) > MAX_NUMBER ? undefined : cursor.total;
  const place = `${page}:${index}:${perPage}`;
  const before = nameable(cursor.before, NEIGHBORS.before);
  const behind = nameable(cursor.behind, NEIGHBORS.behind);
  const alone = before.length + behind.length === 0 && total === undefined;
  const text =
    alone || !NAMEABLE.test(identity)
      ? `c1:${place}:${identity}`
      : `c2:${place}:${total ?? ''}:${identity};${before.join()};${behind.join()}`;
  const { sorted } = cursor;
  const head = sorted ? `c3:${JSON.stringify(sorted.value)}\n` : '';
  return Buffer.from(`${list}/${head}${text}`).toString('base64url');
}

/** @throws BadUserInput `BAD_USER_INPUT` for anything that `encodeCursor` did not make. */
export function decodeCursor(text: string, argument: 'after' | 'before'): Cursor {
  const [, list, rest = ''] = OF_LIST.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  const cursor = decodeSorted(rest) ?? decodePlace(rest);
  if (list === undefined || !cursor || cursor.page < 1 || cursor.perPage < 1) {
    throw new BadUserInput(
      `"${argument}" is not a cursor of this API. Pass the cursor of an edge or of pageInfo unchanged.`,
    );
  }
  return { list, ...cursor };
}

/** A cursor without the name of its list. */
type Position = Omit<Cursor, 'list'>;

function decodePlace(text: string): Position | null {
  return decodeAlone(text) ?? decodeAmongOthers(text);
}

function decodeSorted(text: string): Position | null {
  const [, json, place] = SORTED.exec(text) ?? [];
  if (json === undefined || place === undefined) return null;
  const [cursor, value] = [decodePlace(place), parseValue(json)];
  return cursor && value !== undefined ? { ...cursor, sorted: { value } } : null;
}

/** A sort value; `undefined` for anything else. */
function parseValue(json: string): SortValue | undefined {
  const value = jsonIn(json);
  if (value === null || typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function decodeAlone(text: string): Position | null {
  const [, page, index, perPage, identity] = ALONE.exec(text) ?? [];
  if (identity === undefined) return null;
  return { page: Number(page), index: Number(index), perPage: Number(perPage), identity };
}

function decodeAmongOthers(text: string): Position | null {
  const [, page, index, perPage, total, identity, before, behind] = AMONG_OTHERS.exec(text) ?? [];
  if (identity === undefined) return null;
  return {
    page: Number(page),
    index: Number(index),
    perPage: Number(perPage),
    identity,
    ...(total ? { total: Number(total) } : {}),
    ...(before ? { before: before.split(',') } : {}),
    ...(behind ? { behind: behind.split(',') } : {}),
  };
}

/** The nearest of the neighbors, up to one that contains a separator. */
function nameable(neighbors: readonly string[] = [], most: number): readonly string[] {
  const end = neighbors.findIndex((each) => !NAMEABLE.test(each));
  return neighbors.slice(0, Math.min(most, end < 0 ? most : end));
}
