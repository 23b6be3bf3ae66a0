import { hash } from 'node:crypto';
import { BadUserInput } from '../../errors.ts';
import type { SentOperation } from '../agent-graph.ts';

/** Maximum size of the JSON in a result, in bytes. */
const MAX_RESULT_BYTES = 32 * 1024;
/** Characters of a digest that distinguish the operations of an agent. */
const MARK_LENGTH = 12;
/** Far more than an operation has lists. */
const MAX_CURSOR_LENGTH = 20_000;

type Json = Readonly<Record<string, unknown>>;
type Path = readonly string[];

/**
 * How much of a result was sent: the number of rows of each of its outermost lists and, if the next row is too large
 * for one result, the position in that row.
 */
interface Position {
  readonly lists: readonly (readonly [path: Path, rows: number])[];
  readonly inRow?: Position;
}

/** A part of a result. */
export interface ResultPage {
  readonly data: Json;
  /** Where the next part begins; `null` for the last one. */
  readonly cursor: string | null;
}

/** The whole result of one object, whatever its size. */
interface Cut {
  readonly value: Json;
  readonly position: Position;
}

/**
 * The part of a result from a cursor on, at most 32 kB: its outermost lists end after a row that fits. The next part is
 * that of the same operation, executed again. `null` if even the first row is larger, and has no list.
 * @throws BadUserInput `BAD_USER_INPUT` for a cursor of another operation.
 */
export function pageOfResult(
  data: Json,
  asked: SentOperation,
  cursor: string | null,
): ResultPage | null {
  const start = cursor === null ? null : positionOf(cursor, asked);
  const rest = start ? from(data, start) : data;
  if (bytesOf(rest) <= MAX_RESULT_BYTES) return { data: rest, cursor: null };
  const cut = cutOf(rest, MAX_RESULT_BYTES);
  if (!cut) return null;
  const next = start ? sum(start, cut.position) : cut.position;
  return { data: cut.value, cursor: textOf(next, asked) };
}

/** The rows of each outermost list that fit, in the order of the result. */
function cutOf(value: Json, maxBytes: number): Cut | null {
  const lists = outermostLists(value);
  let room =
    maxBytes -
    bytesOf(
      withRows(
        value,
        lists.map(([path]) => [path, []] as const),
      ),
    );
  let isFull = false;
  const kept = lists.map(([path, rows]) => {
    let count = 0;
    while (!isFull && count < rows.length) {
      room -= bytesOf(rows[count]) + 1;
      isFull = room < 0;
      if (!isFull) count += 1;
    }
    return { path, rows, count };
  });
  const position = { lists: kept.map(({ count, path }) => [path, count] as const) };
  if (kept.some(({ count }) => count > 0)) {
    const parts = kept.map(({ count, path, rows }) => [path, rows.slice(0, count)] as const);
    return { value: withRows(value, parts), position };
  }
  return cutInRow(value, kept, maxBytes);
}

/** A part of the first row, if that has a list itself. */
function cutInRow(
  value: Json,
  lists: readonly { readonly path: Path; readonly rows: readonly unknown[] }[],
  maxBytes: number,
): Cut | null {
  const first = lists.findIndex(({ rows }) => rows.length > 0);
  const row = lists[first]?.rows[0];
  if (!isObject(row)) return null;
  const empty = withRows(
    value,
    lists.map(({ path }) => [path, []] as const),
  );
  const cut = cutOf(row, maxBytes - bytesOf(empty));
  if (!cut) return null;
  const parts = lists.map(({ path }, at) => [path, at === first ? [cut.value] : []] as const);
  const position = {
    lists: lists.map(({ path }) => [path, 0] as const),
    inRow: cut.position,
  };
  return { value: withRows(value, parts), position };
}

/** What follows a position. @throws BadUserInput `BAD_USER_INPUT` for lists that the result does not have. */
function from(value: Json, { inRow, lists }: Position): Json {
  const known = new Map(outermostLists(value).map(([path, rows]) => [path.join('.'), rows]));
  let isFirst = true;
  const parts = lists.map(([path, count]) => {
    const rows = known.get(path.join('.'));
    if (!rows) throw invalidCursor();
    const rest = rows.slice(count);
    const [next] = rest;
    if (inRow && isFirst && isObject(next)) rest[0] = from(next, inRow);
    if (rest.length > 0) isFirst = false;
    return [path, rest] as const;
  });
  return withRows(value, parts);
}

/** The position in the whole result of a position in what follows another. */
function sum(start: Position, next: Position): Position {
  const before = new Map(start.lists.map(([path, count]) => [path.join('.'), count]));
  const lists = next.lists.map(
    ([path, count]) => [path, count + (before.get(path.join('.')) ?? 0)] as const,
  );
  // The row in which the part before has ended is the first one of this part.
  const isSameRow = next.lists.every(([, count]) => count === 0);
  const inRow = isSameRow && start.inRow && next.inRow ? sum(start.inRow, next.inRow) : next.inRow;
  return inRow ? { lists, inRow } : { lists };
}

/** The lists of an object that are not within others, with their paths. */
function outermostLists(value: Json): (readonly [path: Path, rows: readonly unknown[]])[] {
  return Object.entries(value).flatMap(([key, member]) => {
    if (Array.isArray(member)) return [[[key], member] as const];
    if (!isObject(member)) return [];
    return outermostLists(member).map(([path, rows]) => [[key, ...path], rows] as const);
  });
}

/** The same object with other rows in these lists. */
function withRows(
  value: Json,
  lists: readonly (readonly [path: Path, rows: readonly unknown[]])[],
): Json {
  const changed: Record<string, unknown> = { ...value };
  for (const key of new Set(lists.map(([[first = '']]) => first))) {
    const own = lists.filter(([[first]]) => first === key);
    const whole = own.find(([path]) => path.length === 1);
    const inner = own.map(([path, rows]) => [path.slice(1), rows] as const);
    changed[key] = whole ? whole[1] : withRows(value[key] as Json, inner);
  }
  return changed;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? 'null');
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(position: Position, asked: SentOperation): string {
  return Buffer.from(JSON.stringify([markOf(asked), position])).toString('base64url');
}

/** @throws BadUserInput `BAD_USER_INPUT` for a text that is no cursor of this operation. */
function positionOf(cursor: string, asked: SentOperation): Position {
  if (cursor.length > MAX_CURSOR_LENGTH) throw invalidCursor();
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw invalidCursor();
  }
  const [mark, position] = Array.isArray(content) ? (content as unknown[]) : [];
  if (mark !== markOf(asked) || !isPosition(position)) throw invalidCursor();
  return position;
}

function isPosition(value: unknown): value is Position {
  if (!isObject(value)) return false;
  const { inRow, lists } = value;
  const areLists =
    Array.isArray(lists) &&
    lists.every(
      (each: unknown) =>
        Array.isArray(each) &&
        Array.isArray(each[0]) &&
        each[0].every((key) => typeof key === 'string') &&
        Number.isSafeInteger(each[1]) &&
        each[1] >= 0,
    );
  return areLists && (inRow === undefined || isPosition(inRow));
}

function markOf({ operation, variables }: SentOperation): string {
  return hash('sha256', JSON.stringify([operation, variables]), 'base64url').slice(0, MARK_LENGTH);
}

function invalidCursor(): BadUserInput {
  return new BadUserInput(
    'The cursor is not one of this operation with these variables. Send the cursor of the latest result, or none.',
  );
}
