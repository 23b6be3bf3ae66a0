import { stripIgnoredCharacters } from 'graphql';

/** The text of a query without its name, comments and whitespace. */
export interface TextShape {
  readonly text: string;
  /** The name that was left out; `null` for none. */
  readonly name: string | null;
}

/** A query, named or not, at the beginning of a text without whitespace. */
const QUERY = /^query(?: ([_A-Za-z]\w*))?(?=[({@])/;
/** A longer name is refused. */
const MAX_NAME = 200;

/**
 * What remains of the text of a query without all that its answer does not depend on, if it is the only
 * operation; `null` for a text that begins with anything else, or cannot be read. Two texts of one shape have the
 * same words and signs. Block strings are left to the parser: their whitespace counts for the limits. O(n).
 */
export function shapeOf(text: string): TextShape | null {
  if (text.includes('"""')) return null;
  try {
    const stripped = stripIgnoredCharacters(text);
    if (stripped.startsWith('{')) return { text: stripped, name: null };
    const found = QUERY.exec(stripped);
    const name = found?.[1] ?? null;
    if (!found || (name?.length ?? 0) > MAX_NAME) return null;
    return { text: `query${stripped.slice(found[0].length)}`, name };
  } catch {
    return null;
  }
}
