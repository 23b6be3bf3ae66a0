import { isObject, jsonIn } from '../storage/json.ts';

/** Far more than an app has operations. */
export const MAX_OPERATIONS_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Parses a file of persisted operations: a map from ids to texts, as Relay's compiler writes it, or Apollo's
 * manifest with its list of `operations`.
 * @throws TypeError whose message says what is wrong.
 */
export function parseOperationsFile(text: string): ReadonlyMap<string, string> {
  const content = jsonIn(text);
  if (content === undefined) throw new TypeError('it is not JSON');
  if (!isObject(content)) throw new TypeError('it is not a JSON object');
  const { operations } = content;
  const entries: (readonly [unknown, unknown])[] = Array.isArray(operations)
    ? operations.map((each: unknown) => (isObject(each) ? [each['id'], each['body']] : ['', '']))
    : Object.entries(content);
  const known = new Map<string, string>();
  for (const [id, operation] of entries) {
    if (typeof id !== 'string' || typeof operation !== 'string' || id === '' || operation === '') {
      throw new TypeError('it has an entry that is not an id with the text of an operation');
    }
    known.set(id, operation);
  }
  if (known.size === 0) {
    throw new TypeError('it contains no operation, so all requests would be rejected');
  }
  return known;
}
