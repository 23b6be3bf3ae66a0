import type { DecodeContext, Page } from '../request.ts';
import { parseList } from './compound.ts';
import {
  asMap,
  atLeast,
  DecodeError,
  type Fields,
  isEmpty,
  isPresent,
  type JsonObject,
  type Members,
  openObject,
  parseInteger,
  type RowOf,
  readFields,
  readRows,
  surprise,
} from './fields.ts';

/** How the rows of one list are found and read. */
interface PageShape<F extends Fields> {
  /** The list's name in surprises and errors, e.g. `channels`. */
  readonly resource: string;
  /** The keys that may hold the rows, the documented one first. */
  readonly keys: readonly string[];
  /** What a row has beside its id. */
  readonly fields: F;
}

/** The paging members of a page. */
const paging = {
  total: atLeast(0, 'result'),
  perPage: atLeast(1, 'perpage'),
  currentPage: atLeast(1, 'currentpage'),
  nextPage: atLeast(1, 'nextpage'),
  maxPage: atLeast(1, 'maxpage'),
};

/**
 * Makes the decoder of a list. Rows and paging members may sit in `data` or at the top level, in any
 * mixture; the rows may be a list or an object keyed by number. A row that cannot be used is left out
 * and reported as a surprise: it never sinks the page.
 * @throws DecodeError from the decoder, when the answer holds no list at all.
 */
export function pageDecoder<F extends Fields>(
  shape: PageShape<F>,
): (body: unknown, context: DecodeContext) => Page<RowOf<F>> {
  const path = shape.resource;
  return (body, context) => {
    const answer = openObject(body, path, context);
    const data = asMap(answer.members['data']);
    const sent = findRows(answer, data, shape.keys);
    const rows = readRows(shape.fields, sent, answer);
    const members: Record<string, unknown> = { ...answer.members, ...data };
    // "There is none" is `null` in the documents and `false` here and there.
    if (members['nextpage'] === false) members['nextpage'] = null;
    return { rows, ...readFields(paging, { members, path, context }), sent: sent.length };
  };
}

/**
 * Opens what a single read is about: the object under the first of `keys` that holds one, or the whole
 * answer when it carries the fields itself (it then has an `id`). `null` when the answer is a success
 * that holds an empty object or `null`: the upstream's way to say that there is no such thing.
 * @throws DecodeError when none of it is there.
 */
export function openSingle(
  body: unknown,
  keys: readonly string[],
  path: string,
  context: DecodeContext,
): JsonObject | null {
  const answer = openObject(body, path, context);
  for (const key of keys) {
    const value = answer.members[key];
    // Some installations answer a lookup by id as a search would: with a list of one.
    const members = asMap(Array.isArray(value) && value.length === 1 ? value[0] : value);
    const single = members && { members, path, context };
    if (single) return isEmpty(single) ? null : single;
  }
  if (isPresent(answer.members['id'])) return answer;
  const key = keys.find((name) => name in answer.members);
  const value = key === undefined ? undefined : answer.members[key];
  if (value === null || value === false) return null;
  throw new DecodeError(`${path}.${keys[0] ?? ''}`, 'an object');
}

/** @throws DecodeError when the answer holds no list. */
function findRows(
  answer: JsonObject,
  data: Members | undefined,
  keys: readonly string[],
): readonly unknown[] {
  const { members, path } = answer;
  if (Array.isArray(members['data'])) return members['data'] as readonly unknown[];
  for (const holder of [data ?? {}, members]) {
    const key = keys.find((name) => name in holder);
    if (key !== undefined) {
      const value = holder[key];
      if (value === null) return [];
      const list = Array.isArray(value) ? (value as readonly unknown[]) : parseList(value);
      if (list) return list;
      surprise(answer, key);
      throw new DecodeError(`${path}.${key}`, 'a list');
    }
  }
  // No list, yet an answer that says of itself that it has none to give.
  if (parseInteger((data ?? members)['result']) === 0) return [];
  if (members['data'] === null) {
    surprise(answer, 'data');
    return [];
  }
  const numbered = data && Object.keys(data).every((name) => /^\d+$/.test(name));
  if (data && numbered) return Object.values(data);
  throw new DecodeError(`${path}.${keys[0] ?? 'data'}`, 'a list');
}
