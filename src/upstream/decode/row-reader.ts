import type { DecodeContext } from '../request.ts';
import {
  asMap,
  decodeText,
  isBlank,
  isPresent,
  type Parsed,
  parseDate,
  parseFlag,
  parseInteger,
  parseList,
  parseNumber,
  parseSmallInteger,
  parseText,
  parseTime,
} from './scalars.ts';

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

/** Lists deeper than this in one another are no documents' idea. */
const MAX_DEPTH = 4;

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

  /** True when the member is an object, or the empty list that stands for one. */
  isMap(key: string): boolean {
    return asMap(this.#members[key]) !== undefined;
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
    return this.#read(keys, (value) => {
      const text = value === false ? '' : parseText(value);
      return text === '' ? null : text;
    });
  }

  /** An integer of at most 32 bits; a larger one is a surprise. */
  integer(...keys: readonly string[]): number | null {
    return this.#read(keys, parseSmallInteger);
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

  /**
   * A list of texts, without the empty ones; a lone text is a list of one. Absent is `[]`, and lists
   * in it are taken for their values.
   */
  texts(...keys: readonly string[]): readonly string[] {
    return this.#texts(keys, (text) => [text]);
  }

  /** Like `texts`, but a lone text is a list separated by commas. */
  words(...keys: readonly string[]): readonly string[] {
    return this.#texts(keys, (text) => text.split(','));
  }

  /** The members of an object whose values are texts, keys decoded too and empty texts left out. */
  textEntries(...keys: readonly string[]): ReadonlyArray<readonly [string, string]> {
    const texts: Array<readonly [string, string]> = [];
    for (const [name, value] of this.entries(...keys)) {
      const text = isBlank(value) ? '' : parseText(value)?.trim();
      if (text) texts.push([decodeText(name), text]);
      else if (text === undefined) this.surprise(keys[0] ?? '');
    }
    return texts;
  }

  /** The objects of a list, or of an object's values; anything else in it is reported and left out. */
  rows(...keys: readonly string[]): readonly RowReader[] {
    const member = keys[0] ?? '';
    const rows: RowReader[] = [];
    for (const value of this.list(...keys) ?? []) {
      const members = asMap(value);
      if (members) rows.push(new RowReader(members, `${this.#path}.${member}`, this.#context));
      else if (isPresent(value)) this.surprise(member);
    }
    return rows;
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
    for (const value of flatten(values ?? [])) {
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

/** The values of a list and of the lists in it; PHP writes a list with a gap as an object by number. */
function flatten(values: readonly unknown[], depth = 0): readonly unknown[] {
  return values.flatMap((value) => {
    if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH) return [value];
    const isList = Array.isArray(value) || /^\d+(?:,\d+)*$/.test(Object.keys(value).join());
    return isList ? flatten(Object.values(value), depth + 1) : [value];
  });
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
