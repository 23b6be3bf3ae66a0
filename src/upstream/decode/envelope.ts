import type { DecodeContext, Page } from '../request.ts';
import { isBlank, parseList } from './compound.ts';
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
  /** The fields of a row besides its id. */
  readonly fields: F;
}

/** The paging members of a page. */
const paging = {
  total: atLeast(0, 'result'),
  perPage: atLeast(1, 'perpage'),
  currentPage: atLeast(1, 'currentpage'),
  nextPage: atLeast(0, 'nextpage'),
  maxPage: atLeast(1, 'maxpage'),
};

/**
 * Makes the decoder of a list. Rows and paging members may be in `data` or at the top level, in any mixture; the
 * rows may be a list or an object keyed by number. An unusable row is omitted and reported as a surprise: it never
 * fails the page.
 * @throws DecodeError from the decoder, if the response contains no list.
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
    // "None" is `null` in the documentation and sometimes `false` or empty in practice.
    if (members['nextpage'] === null || isBlank(members['nextpage'])) members['nextpage'] = 0;
    return { rows, ...readFields(paging, { members, path, context }), sent: sent.length };
  };
}

/**
 * Opens the object of a single read: the object under the first of `keys` that contains one, or the whole response
 * if it has the fields itself (it then has an `id`). `null` if the response is a success with an empty object or
 * `null`: the upstream's way to say that the object does not exist.
 * @throws DecodeError if there is none of these.
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
    // Some installations respond to a lookup by id as to a search: with a list of one.
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

/** @throws DecodeError if the response contains no list. */
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
  // No list, but the response states that there are no rows.
  if (parseInteger((data ?? members)['result']) === 0) return [];
  if (members['data'] === null) {
    surprise(answer, 'data');
    return [];
  }
  const numbered = data && Object.keys(data).every((name) => /^\d+$/.test(name));
  if (data && numbered) return Object.values(data);
  throw new DecodeError(`${path}.${keys[0] ?? 'data'}`, 'a list');
}
