import { visibleText } from '../../visible-text.ts';
import { firstSentence } from '../describe/sdl.ts';
import type { ChangedField } from './changed-fields.ts';

/** Characters of the input of one change that a person is shown. */
const MAX_INPUT = 2000;
/** Objects of one change that are named. */
const MOST_TARGETS = 5;
/** Members whose values no person must see. */
const HIDDEN = /password|secret|api_?key/i;

/** The type and the name of an object, if they are cached. `typename` is that of an `id` without a type. */
export type NameOfObject = (
  id: string,
  typename: string,
) => Promise<{ readonly type: string; readonly name: string } | null>;

/**
 * What a mutation does, one line for each of its fields: the prose of the field, the objects that it changes, and its
 * input. Values of users are quoted.
 */
export function effectsOf(
  fields: readonly ChangedField[],
  nameOf: NameOfObject,
): Promise<string[]> {
  return Promise.all(fields.map((field) => effectOf(field, nameOf)));
}

async function effectOf({ args, field }: ChangedField, nameOf: NameOfObject): Promise<string> {
  // As in `deleteChannel`.
  const typename = field.name.replace(/^[a-z]+/, '');
  const ids = [...new Set(idsIn(args))].slice(0, MOST_TARGETS);
  const found = await Promise.all(ids.map((id) => nameOf(id, typename)));
  const targets = found.flatMap((each) =>
    each ? [`${each.type} ${JSON.stringify(each.name)}`] : [],
  );
  const about = targets.length > 0 ? ` Concerns ${targets.join(', ')}.` : '';
  const what = `${field.name}: ${firstSentence(field.description)}`;
  return visibleText(`${what}${about} Input: ${inputText(args)}`);
}

/** The values of members that are IDs by their names. */
function idsIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return /^ids?$|Ids?$/.test(key) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((each: unknown) => idsIn(each, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => idsIn(each, name));
}

function inputText(args: ChangedField['args']): string {
  const text = JSON.stringify(args, (key, value: unknown) =>
    HIDDEN.test(key) ? '(hidden)' : value,
  );
  const more = text.length - MAX_INPUT;
  return more > 0 ? `${text.slice(0, MAX_INPUT)}… (${more} more characters)` : text;
}
