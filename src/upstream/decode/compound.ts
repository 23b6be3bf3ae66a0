import {
  asMap,
  type Decoded,
  type Field,
  type Fields,
  field,
  isEmpty,
  isPresent,
  type JsonObject,
  parseText,
  readField,
  readFields,
  surprise,
} from './fields.ts';

/** Texts of a list, without the empty ones; a lone text is a list of one. Lists in it are taken for their values. */
export const texts = (key: string): Field<readonly string[]> => textsOf(key, (lone) => [lone]);

/** Like `texts`, but a lone text is a list separated by commas. */
export const words = (key: string): Field<readonly string[]> =>
  textsOf(key, (lone) => lone.split(','));

/** The results of `make` for the non-empty members of an object: see `collect`. */
export const entries = <T>(
  key: string,
  make: (name: string, value: unknown) => T | null | undefined,
): Field<readonly T[]> => ({
  keys: [key],
  parse: (value, object) => {
    const members = isBlank(value) ? {} : asMap(value);
    const makeEntry = ([name, each]: [string, unknown]) =>
      isPresent(each) ? make(name, each) : null;
    return members && collect(Object.entries(members), makeEntry, object, key);
  },
  absent: [],
});

/** The results of `make` for the objects in a list, or for an object's values: see `collect`. */
export const objects = <T>(
  key: string,
  make: (object: JsonObject) => T | null | undefined,
): Field<readonly T[]> => ({
  keys: [key],
  parse: (value, object) => {
    const values = parseList(value);
    const makeObject = (each: unknown) => {
      const members = asMap(each);
      if (members) return make({ members, path: `${object.path}.${key}`, context: object.context });
      return isPresent(each) ? undefined : null;
    };
    return values && collect(values, makeObject, object, key);
  },
  absent: [],
});

/** The result of `decode` for an inner object. An empty list is treated as an empty object. */
export const inner = <T>(key: string, decode: (object: JsonObject) => T): Field<T | null> =>
  field([key], (value, { path, context }) => {
    const members = asMap(value);
    return members && decode({ members, path: `${path}.${key}`, context });
  });

/** Reads fields of an inner object: each is absent if the object is. */
export function readInner<F extends Fields>(
  key: string,
  fields: F,
  object: JsonObject,
): Decoded<F> {
  const found = readField(
    inner(key, (each) => each),
    object,
  );
  return readFields(fields, found ?? { ...object, members: {} });
}

/** The fields of an object inside the object; `null` for an empty one. */
export const nested = <F extends Fields>(key: string, fields: F): Field<Decoded<F> | null> =>
  inner(key, (object) => (isEmpty(object) ? null : readFields(fields, object)));

/** The result of `make` for each value; if it is `undefined`, the member `key` is reported. */
function collect<V, T>(
  values: readonly V[],
  make: (value: V) => T | null | undefined,
  object: JsonObject,
  key: string,
): readonly T[] {
  const made: T[] = [];
  for (const value of values) {
    const each = make(value);
    if (isPresent(each)) made.push(each);
    else if (each === undefined) surprise(object, key);
  }
  return made;
}

/** No documented response has lists nested deeper than this. */
const MAX_DEPTH = 4;

function textsOf(key: string, split: (text: string) => string[]): Field<readonly string[]> {
  const trimmed = (value: unknown) => {
    const text = isPresent(value) ? parseText(value)?.trim() : '';
    return text === '' ? null : text;
  };
  return {
    keys: [key],
    parse: (value, object) => {
      const values = typeof value === 'string' ? split(value) : parseList(value);
      return values && collect(flatten(values), trimmed, object, key);
    },
    absent: [],
  };
}

/** The values of a list and of the lists in it; PHP writes a list with a gap as an object by number. */
function flatten(values: readonly unknown[], depth = 0): readonly unknown[] {
  const isFlat = values.every((value) => typeof value !== 'object' || value === null);
  if (isFlat || depth >= MAX_DEPTH) return values;
  return values.flatMap((value) => {
    if (typeof value !== 'object' || value === null) return [value];
    const isList = Array.isArray(value) || /^\d+(?:,\d+)*$/.test(Object.keys(value).join());
    return isList ? flatten(Object.values(value), depth + 1) : [value];
  });
}

/** A list, or the values of an object in its place; a blank scalar is treated as an empty list. */
export function parseList(value: unknown): readonly unknown[] | undefined {
  if (isBlank(value)) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  return typeof value === 'object' && value !== null ? Object.values(value) : undefined;
}

/** The values that PHP sends for an empty list or object. */
export function isBlank(value: unknown): boolean {
  return value === false || value === 0 || value === '0' || value === '';
}
