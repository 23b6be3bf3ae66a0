import type { StoredLine } from '../storage/stored-lines.ts';

/** An error of a line as the output shows it, with the other members of its `extensions`. */
export interface LineError {
  readonly code: string;
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly [detail: string]: unknown;
}

/** The variables of a line, or why it has none. */
export type ParsedLine =
  | { readonly variables: Readonly<Record<string, unknown>>; readonly error?: never }
  | { readonly error: LineError };

/** A text that can contain the member `__proto__`, also as an escape sequence. */
const MAY_HAVE_PROTO = /__proto__|\\u/;
/** Maximum number of characters of a name in a message. */
const LONGEST_NAME = 60;

/**
 * Reads a line of changes: a JSON object with variables of the mutation. `names`: those that it declares; another one is
 * an error, because GraphQL ignores it, as it would a misspelled one. If a member occurs twice, the last one is used. No
 * upstream request; never throws.
 */
export function parseChangeLine(
  { fault, text }: Pick<StoredLine, 'fault' | 'text'>,
  names: ReadonlySet<string>,
): ParsedLine {
  if (text === null) {
    return fault === 'TOO_LONG'
      ? refused('The line is too long: it has more than 1 MiB.')
      : refused('The line is not valid UTF-8.');
  }
  let read: JsonText;
  try {
    read = readJson(text);
  } catch {
    return refused(
      'The line is not valid JSON. Write one object in each line, without line breaks.',
    );
  }
  const { hasProto, value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused('The line is not a JSON object. Write the variables as its members.');
  }
  // An assignment to this member would change the prototype of an object.
  if (hasProto) return refused('The name "__proto__" is not allowed.');
  const unknown = Object.keys(value).find((name) => !names.has(name));
  if (unknown !== undefined) {
    return refused(`The mutation has no variable "$${unknown.slice(0, LONGEST_NAME)}".`);
  }
  return { variables: value as Record<string, unknown> };
}

interface JsonText {
  readonly value: unknown;
  readonly hasProto: boolean;
}

function readJson(text: string): JsonText {
  // A function for each member makes the parser several times slower.
  if (!MAY_HAVE_PROTO.test(text)) return { value: JSON.parse(text), hasProto: false };
  let hasProto = false;
  const value: unknown = JSON.parse(text, (name, member: unknown) => {
    hasProto ||= name === '__proto__';
    return member;
  });
  return { value, hasProto };
}

function refused(message: string): ParsedLine {
  return { error: { code: 'BAD_USER_INPUT', message } };
}
