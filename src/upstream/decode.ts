import { decode as decodeEntities } from 'html-entities';
import type { DecodeContext } from './call.ts';
import { formatTimestamp, isZeroDate, parseDay, parseTimestamp } from './timestamp.ts';

/**
 * An answer, or a row of one, that cannot be used as a whole. `path` and `expected` say what was
 * missing; what stood there instead is not repeated, as it may be private.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  /** Where in the answer, e.g. `channels.id`. */
  readonly path: string;
  /** What kind of value belongs there, e.g. `an integer`. */
  readonly expected: string;

  constructor(path: string, expected: string) {
    super(`${path}: expected ${expected}`);
    this.path = path;
    this.expected = expected;
  }
}

/**
 * What a parser makes of a value that is there: `null` when it says "nothing" in its own way (a zero
 * date, a blank number), `undefined` when it is not what the documents promise.
 */
type Parsed<T> = T | null | undefined;

/**
 * A tolerant view of one JSON object. Each reader takes the keys under which installations are known
 * to put the member and uses the first that holds something readable. Absent and `null` read as
 * `null`; anything malformed reads as `null` too and is reported as a surprise, once per member.
 */
export class RowReader {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #path: string;
  readonly #context: DecodeContext;

  /** @param path names the object in surprises and errors; it must not hold text of the upstream. */
  constructor(members: Readonly<Record<string, unknown>>, path: string, context: DecodeContext) {
    this.#members = members;
    this.#path = path;
    this.#context = context;
  }

  /** True when the object has no members at all. */
  get empty(): boolean {
    return Object.keys(this.#members).length === 0;
  }

  /** True when the member is there and not `null`. */
  has(key: string): boolean {
    return isPresent(this.#members[key]);
  }

  /** The row's integer id. @throws DecodeError when it has none: then nothing can refer to the row. */
  id(): number {
    const id = parseInteger(this.#members['id']);
    if (typeof id !== 'number' || id < 0) throw new DecodeError(`${this.#path}.id`, 'an integer');
    return id;
  }

  /** Text with its HTML entities decoded once. A number is taken as its digits; `''` stays `''`. */
  text(...keys: readonly string[]): string | null {
    return this.#read(keys, parseText);
  }

  /** A URL, or `null` for `false` and `''`, which is how an absent one is spelt. */
  link(...keys: readonly string[]): string | null {
    return this.#read(keys, (value) => (value === false ? null : parseText(value) || null));
  }

  integer(...keys: readonly string[]): number | null {
    return this.#read(keys, parseInteger);
  }

  number(...keys: readonly string[]): number | null {
    return this.#read(keys, parseNumber);
  }

  flag(...keys: readonly string[]): boolean | null {
    return this.#read(keys, parseFlag);
  }

  /** A moment as `2026-01-31T09:30:00Z`; a timestamp without a zone is in the upstream's. */
  time(...keys: readonly string[]): string | null {
    return this.#read(keys, (value) => parseTime(value, this.#context.timeZone));
  }

  /** A day as `YYYY-MM-DD`; of a timestamp, the day as it is written. */
  day(...keys: readonly string[]): string | null {
    return this.#read(keys, parseDate);
  }

  /** The value that `choices` gives for the text, whatever its case, e.g. `{ free: 'FREE' }`. */
  choice<T extends string>(
    choices: Readonly<Record<string, T>>,
    ...keys: readonly string[]
  ): T | null {
    return this.#read(keys, (value) => {
      const text = parseText(value)?.trim().toLowerCase();
      if (text === '') return null;
      return text !== undefined && Object.hasOwn(choices, text) ? choices[text] : undefined;
    });
  }

  /** An object inside this one. An empty list counts as an empty object, which is what it is. */
  map(...keys: readonly string[]): RowReader | null {
    for (const key of keys) {
      const members = asMap(this.#members[key]);
      if (members) return new RowReader(members, `${this.#path}.${key}`, this.#context);
    }
    return this.#read<RowReader>(keys, () => undefined);
  }

  /** A list, or the values of an object in its place; `false`, `0` and `''` are an empty one. */
  list(...keys: readonly string[]): readonly unknown[] | null {
    return this.#read(keys, parseList);
  }

  /** The members of an object, as far as they hold something; `[]` when it is absent or empty. */
  entries(...keys: readonly string[]): ReadonlyArray<readonly [string, unknown]> {
    const entries = this.#read(keys, (value) => {
      if (isBlank(value)) return [];
      const members = asMap(value);
      return members ? Object.entries(members) : undefined;
    });
    return (entries ?? []).filter(([, value]) => isPresent(value));
  }

  /** All members of this object itself, as far as they hold something. */
  members(): ReadonlyArray<readonly [string, unknown]> {
    return Object.entries(this.#members).filter(([, value]) => isPresent(value));
  }

  /** A list of texts, without the empty ones; a lone text is a list of one. Absent is `[]`. */
  texts(...keys: readonly string[]): readonly string[] {
    return this.#texts(keys, (text) => [text]);
  }

  /** Like `texts`, but a lone text is a list separated by commas. */
  words(...keys: readonly string[]): readonly string[] {
    return this.#texts(keys, (text) => text.split(','));
  }

  /** Reports that a member is not what the documents say. */
  surprise(member: string): void {
    this.#context.surprise(`${this.#path}.${member}`);
  }

  #texts(keys: readonly string[], split: (text: string) => string[]): readonly string[] {
    const values = this.#read(keys, (value) =>
      typeof value === 'string' ? split(value) : parseList(value),
    );
    const texts: string[] = [];
    for (const value of values ?? []) {
      const text = isPresent(value) ? parseText(value)?.trim() : '';
      if (text) texts.push(text);
      else if (text === undefined) this.surprise(keys[0] ?? '');
    }
    return texts;
  }

  #read<T>(keys: readonly string[], parse: (value: unknown) => Parsed<T>): T | null {
    let malformed: string | undefined;
    for (const key of keys) {
      const value = this.#members[key];
      if (!isPresent(value)) continue;
      const parsed = parse(value);
      if (isPresent(parsed)) return parsed;
      if (parsed === undefined) malformed ??= key;
    }
    if (malformed !== undefined) this.surprise(malformed);
    return null;
  }
}

/**
 * Opens a JSON object for reading; an empty list is taken for an empty object.
 * @throws DecodeError when the value is anything else.
 */
export function readRow(value: unknown, path: string, context: DecodeContext): RowReader {
  const members = asMap(value);
  if (!members) throw new DecodeError(path, 'an object');
  return new RowReader(members, path, context);
}

/**
 * Opens what a single read is about: the object under the first of `keys` that holds one, or the whole
 * answer when it carries the fields itself (it then has an `id`). `null` when the answer is a success
 * that holds an empty object or `null`: the upstream's way to say that there is no such thing.
 * @throws DecodeError when none of it is there.
 */
export function readSingle(
  body: unknown,
  keys: readonly string[],
  path: string,
  context: DecodeContext,
): RowReader | null {
  const answer = asMap(body);
  if (!answer) throw new DecodeError(path, 'an object');
  for (const key of keys) {
    const value = answer[key];
    // Some installations answer a lookup by id as a search would: with a list of one.
    const members = asMap(Array.isArray(value) && value.length === 1 ? value[0] : value);
    if (members) {
      return Object.keys(members).length === 0 ? null : new RowReader(members, path, context);
    }
  }
  if (isPresent(answer['id'])) return new RowReader(answer, path, context);
  const key = keys.find((name) => name in answer);
  if (key !== undefined && (answer[key] === null || answer[key] === false)) return null;
  throw new DecodeError(`${path}.${keys[0] ?? ''}`, 'an object');
}

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

function parseNumber(value: unknown): Parsed<number> {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '') return null;
  // `Number` alone would also take hexadecimal digits and "Infinity".
  if (!/^[+-]?\d+(?:\.\d+)?$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

function parseText(value: unknown): string | undefined {
  if (typeof value === 'string') return decodeText(value);
  return typeof value === 'number' ? String(value) : undefined;
}

function parseFlag(value: unknown): Parsed<boolean> {
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

function parseTime(value: unknown, timeZone: string): Parsed<string> {
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '' || isZeroDate(value)) return null;
  const moment = parseTimestamp(value, timeZone);
  return moment === null ? undefined : formatTimestamp(moment);
}

function parseDate(value: unknown): Parsed<string> {
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '' || isZeroDate(value)) return null;
  return parseDay(value) ?? undefined;
}

function parseList(value: unknown): Parsed<readonly unknown[]> {
  if (isBlank(value)) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  return typeof value === 'object' && value !== null ? Object.values(value) : undefined;
}

function isBlank(value: unknown): boolean {
  return value === false || value === 0 || value === '0' || value === '';
}

function isPresent<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}
