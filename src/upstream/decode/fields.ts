import { decode as decodeEntities } from 'html-entities';
import type { DecodeContext, Row } from '../request.ts';
import { normalTimestamp } from './timestamp.ts';

/**
 * A response, or a row of one, that is unusable. `path` and `expected` say what was missing; the actual value is
 * not repeated, as it may be private.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  /** The path in the response, e.g. `channels.id`. */
  readonly path: string;
  /** What kind of value belongs there, e.g. `an integer`. */
  readonly expected: string;

  constructor(path: string, expected: string) {
    super(`${path}: expected ${expected}`);
    this.path = path;
    this.expected = expected;
  }
}

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** One JSON object of a response. */
export interface JsonObject {
  readonly members: Members;
  /** Names the object in surprises and errors, e.g. `channels`; it must not hold text of the upstream. */
  readonly path: string;
  readonly context: DecodeContext;
}

/**
 * The meaning of an existing value: `null` if it represents "nothing" (a zero date, a blank number), `undefined` if it
 * does not match the documentation.
 */
type Parse<T> = (value: unknown, object: JsonObject, key: string) => T | null | undefined;

/**
 * One member of an object. `keys` are its names in different installations: the first with a readable value counts.
 * Missing, `null` and malformed values result in `absent`; a malformed value is also reported as a surprise, once per
 * member.
 */
export interface Field<T> {
  readonly keys: readonly string[];
  readonly parse: Parse<T>;
  readonly absent: T;
  /** The expected value, if an object without it is unusable. */
  readonly expected?: string;
}

/** The fields of an object, by their decoded names. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The decoded form of a table of fields. */
export type Decoded<F> = { readonly [M in keyof F]: F[M] extends Field<infer T> ? T : never };

/** A row with an id and the fields of a table. */
export type RowOf<F> = Row & Decoded<F>;

/** A field that is `null` if it is absent. */
export const field = <T>(keys: readonly string[], parse: Parse<T>): Field<T | null> => ({
  keys,
  parse,
  absent: null,
});

/** Text with its HTML entities decoded once. A number is taken as its digits; `''` stays `''`. */
export const text = (...keys: readonly string[]): Field<string | null> => field(keys, parseText);

/** A URL, or `null` for `false` and `''`, which represent a missing one. */
export const link = (...keys: readonly string[]): Field<string | null> =>
  field(keys, (value) => {
    const url = value === false ? '' : parseText(value);
    return url === '' ? null : url;
  });

/** A 32-bit integer, the maximum of GraphQL; a larger one is a surprise. */
export const integer = (...keys: readonly string[]): Field<number | null> =>
  field(keys, parseSmallInteger);

/** How often something was counted: a 32-bit integer, to which fractions are rounded. */
export const count = (...keys: readonly string[]): Field<number | null> => field(keys, parseCount);

/** A 32-bit integer of at least this value; a smaller one is ignored. */
export const atLeast = (least: number, key: string): Field<number | null> =>
  field([key], (value) => {
    const count = parseSmallInteger(value);
    return typeof count === 'number' && count < least ? null : count;
  });

/** A number, also one written as text. */
export const number = (...keys: readonly string[]): Field<number | null> =>
  field(keys, parseNumber);

/** `true`, 1, "1" and "true", and their opposites. */
export const flag = (...keys: readonly string[]): Field<boolean | null> => field(keys, parseFlag);

/** A time as `2026-01-31T09:30:00Z`; a timestamp without a zone is in the upstream's zone. */
export const time = (...keys: readonly string[]): Field<string | null> => field(keys, parseTime);

/** A day as `YYYY-MM-DD`; of a timestamp, the day as it is written. */
export const day = (...keys: readonly string[]): Field<string | null> => field(keys, parseDate);

/** The value of `choices` for the text, not case-sensitive, e.g. `{ free: 'FREE' }`. */
export const choice = <T extends string>(
  choices: Readonly<Record<string, T>>,
  ...keys: readonly string[]
): Field<T | null> =>
  field(keys, (value) => {
    const word = parseText(value)?.trim().toLowerCase();
    if (word === '') return null;
    return word !== undefined && Object.hasOwn(choices, word) ? choices[word] : undefined;
  });

/** The same field if an object without it is unusable; `expected` describes the value. */
export const required = <T>(one: Field<T | null>, expected: string): Field<T> =>
  ({ ...one, expected }) as Field<T>;

/** A row's integer id, without which nothing can refer to it. */
export const rowId: Field<number> = required(
  field(['id'], (value) => {
    const id = parseInteger(value);
    return typeof id === 'number' && id >= 0 ? id : null;
  }),
  'an integer',
);

/** @throws DecodeError when the field is required and cannot be read. */
export function readField<T>({ keys, parse, absent, expected }: Field<T>, object: JsonObject): T {
  let malformed: string | undefined;
  for (const key of keys) {
    const value = object.members[key];
    if (!isPresent(value)) continue;
    const parsed = parse(value, object, key);
    if (isPresent(parsed)) return parsed;
    if (parsed === undefined) malformed ??= key;
  }
  if (malformed !== undefined) surprise(object, malformed);
  if (expected !== undefined) throw new DecodeError(`${object.path}.${keys[0]}`, expected);
  return absent;
}

/** Whether an object has a member of a field, readable or not. */
export function hasField({ keys }: Field<unknown>, { members }: JsonObject): boolean {
  return keys.some((key) => isPresent(members[key]));
}

/** Reads each field of a table. @throws DecodeError when a required one cannot be read. */
export function readFields<F extends Fields>(fields: F, object: JsonObject): Decoded<F> {
  return readInto({}, fields, object) as Decoded<F>;
}

/** Reads a row: its id, then each field of a table. @throws DecodeError when a required one cannot be read. */
export function readRow<F extends Fields>(fields: F, object: JsonObject): RowOf<F> {
  return readInto({ id: readField(rowId, object) }, fields, object) as RowOf<F>;
}

/** Reads the rows of a list. One that cannot be used is left out and reported as a surprise. */
export function readRows<F extends Fields>(
  fields: F,
  values: readonly unknown[],
  { path, context }: Omit<JsonObject, 'members'>,
): RowOf<F>[] {
  const rows: RowOf<F>[] = [];
  for (const value of values) {
    try {
      rows.push(readRow(fields, openObject(value, path, context)));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      context.surprise(error.path);
    }
  }
  return rows;
}

/**
 * Opens a JSON object for reading; an empty list is taken for an empty object.
 * @throws DecodeError when the value is anything else.
 */
export function openObject(value: unknown, path: string, context: DecodeContext): JsonObject {
  const members = asMap(value);
  if (!members) throw new DecodeError(path, 'an object');
  return { members, path, context };
}

/** Whether the object has no members at all. */
export function isEmpty({ members }: JsonObject): boolean {
  return Object.keys(members).length === 0;
}

/** Reports that a member differs from the documentation. */
export function surprise({ path, context }: JsonObject, member: string): void {
  context.surprise(`${path}.${member}`);
}

function readInto(row: Record<string, unknown>, fields: Fields, object: JsonObject): object {
  for (const name in fields) row[name] = readField(fields[name] as Field<unknown>, object);
  return row;
}

/** The start of every entity. */
const entity = /&[#\da-z]/i;

/** The upstreams escape text for HTML before they write it as JSON: this decodes it exactly once. */
export function decodeText(text: string): string {
  if (!text.includes('&') || !entity.test(text)) return text;
  return decodeEntities(text, { scope: 'strict' });
}

/** A JSON object, or an empty list in its place, because PHP writes both alike if they are empty. */
export function asMap(value: unknown): Members | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? {} : undefined;
  return value as Members;
}

/** An integer, also one written as text; `null` for a blank, `undefined` for anything else. */
export function parseInteger(value: unknown): number | null | undefined {
  const number = parseNumber(value);
  return typeof number === 'number' && !Number.isSafeInteger(number) ? undefined : number;
}

/** A 32-bit integer, the largest that the graph can return; a larger one is rejected. */
function parseSmallInteger(value: unknown): number | null | undefined {
  const number = parseInteger(value);
  return typeof number === 'number' && number !== (number | 0) ? undefined : number;
}

/** See `count`; `null` for a blank. Of a text like `1.234`, nobody knows whether it is a fraction. */
export function parseCount(value: unknown): number | null | undefined {
  if (typeof value === 'string' && /\.\d{3}$/.test(value.trim())) return undefined;
  const number = parseNumber(value);
  return typeof number === 'number' ? parseSmallInteger(Math.round(number)) : number;
}

/** The digits of a number in groups of three, as `1,234.5`. */
const GROUPED = /^[+-]?\d{1,3}(?:([,'’\s])\d{3})(?:\1\d{3})*(?:\.\d+)?$/;

/** A number, also one written as text, with its digits in groups or not; `-0`, which JSON cannot write, is 0. */
function parseNumber(value: unknown): number | null | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined;
  if (typeof value !== 'string') return undefined;
  const trimmed = value.trim();
  if (trimmed === '') return null;
  const text = GROUPED.test(trimmed) ? trimmed.replace(/[,'’\s]/g, '') : trimmed;
  // `Number` alone would also accept hexadecimal digits and "Infinity".
  if (!/^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const number = Number(text) + 0;
  return Number.isFinite(number) ? number : undefined;
}

/** Text with its entities decoded; a number as its digits. */
export function parseText(value: unknown): string | undefined {
  if (typeof value === 'string') return decodeText(value);
  return typeof value === 'number' ? String(value) : undefined;
}

/** `true`, 1, "1" and "true", and their opposites. */
function parseFlag(value: unknown): boolean | null | undefined {
  if (typeof value === 'boolean') return value;
  if (value === 1 || value === 0) return value === 1;
  if (typeof value !== 'string') return undefined;
  switch (value.trim().toLowerCase()) {
    case '1':
    case 'true':
      return true;
    case '0':
    case 'false':
      return false;
    case '':
      return null;
    default:
      return undefined;
  }
}

/** The zero date of databases ("never"), and its conversions by date libraries. */
const ZERO_DATE = /^(?:0000-00-00|-0001-11-30)(?:[T ].*)?$/;

/** A timestamp in the gateway's format, in the upstream's zone if it has none of its own. */
function parseTime(value: unknown, { context }: JsonObject): string | null | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '' || ZERO_DATE.test(value)) return null;
  return normalTimestamp(value, context.timeZone) ?? undefined;
}

/** A day as `YYYY-MM-DD`. */
function parseDate(value: unknown): string | null | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '' || ZERO_DATE.test(value)) return null;
  return parseDay(value) ?? undefined;
}

/** `YYYY-MM-DD` when `text` starts with a day of the calendar as it is written there, else `null`. */
export function parseDay(text: string): string | null {
  const day = /^([1-9]\d{3}-\d{2}-\d{2})(?:[T ].*)?$/.exec(text.trim())?.[1];
  if (day === undefined) return null;
  const date = new Date(`${day}T00:00Z`);
  // `Date` takes the 30th of February for a day of March.
  return date.getUTCDate() === Number(day.slice(8)) ? day : null;
}

/** False for `undefined` and `null`, which mean the same in a response. */
export function isPresent<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}
