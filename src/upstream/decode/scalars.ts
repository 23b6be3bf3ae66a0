import { decode as decodeEntities } from 'html-entities';
import { formatTimestamp, isZeroDate, parseDay, parseTimestamp } from './timestamp.ts';

/**
 * What a parser makes of a value that is there: `null` when it says "nothing" in its own way (a zero
 * date, a blank number), `undefined` when it is not what the documents promise.
 */
export type Parsed<T> = T | null | undefined;

/** The upstreams escape text for HTML before they put it into JSON: undone here, exactly once. */
export function decodeText(text: string): string {
  return text.includes('&') ? decodeEntities(text, { scope: 'strict' }) : text;
}

/** A JSON object, or an empty list in its place: PHP spells both alike when there is nothing inside. */
export function asMap(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? {} : undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** An integer, also one written as text; `null` for a blank, `undefined` for anything else. */
export function parseInteger(value: unknown): Parsed<number> {
  const number = parseNumber(value);
  return typeof number === 'number' && !Number.isSafeInteger(number) ? undefined : number;
}

/** An integer of 32 bits, which is as much as can be shown; a larger one is none. */
export function parseSmallInteger(value: unknown): Parsed<number> {
  const number = parseInteger(value);
  return typeof number === 'number' && number !== (number | 0) ? undefined : number;
}

/** A number, also one written as text in plain digits; `-0`, which JSON cannot write, is 0. */
export function parseNumber(value: unknown): Parsed<number> {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '') return null;
  // `Number` alone would also take hexadecimal digits and "Infinity".
  if (!/^[+-]?\d+(?:\.\d+)?$/.test(text)) return undefined;
  const number = Number(text) + 0;
  return Number.isFinite(number) ? number : undefined;
}

/** Text with its entities decoded; a number as its digits. */
export function parseText(value: unknown): string | undefined {
  if (typeof value === 'string') return decodeText(value);
  return typeof value === 'number' ? String(value) : undefined;
}

/** `true`, 1, "1" and "true", and their opposites. */
export function parseFlag(value: unknown): Parsed<boolean> {
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

/** A timestamp in the gateway's spelling, local to `timeZone` when it has no zone of its own. */
export function parseTime(value: unknown, timeZone: string): Parsed<string> {
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '' || isZeroDate(value)) return null;
  const moment = parseTimestamp(value, timeZone);
  return moment === null ? undefined : formatTimestamp(moment);
}

/** A day as `YYYY-MM-DD`. */
export function parseDate(value: unknown): Parsed<string> {
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '' || isZeroDate(value)) return null;
  return parseDay(value) ?? undefined;
}

/** A list, or the values of an object in its place; a blank scalar is an empty one. */
export function parseList(value: unknown): Parsed<readonly unknown[]> {
  if (isBlank(value)) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  return typeof value === 'object' && value !== null ? Object.values(value) : undefined;
}

/** How PHP spells "nothing" where a list or an object belongs. */
export function isBlank(value: unknown): boolean {
  return value === false || value === 0 || value === '0' || value === '';
}

/** False for `undefined` and `null`, which mean the same in an answer. */
export function isPresent<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}
