/** The text of a query without all that differs between texts which one plan answers. */
export interface TextShape {
  /** With `0` for every integer and `""` for every string; without name, comments and whitespace. */
  readonly text: string;
  /** The integers and strings that were taken out, as they stood in the text, in their order. */
  readonly literals: readonly string[];
  /** The name that was left out; `null` for none. */
  readonly name: string | null;
}

/** What is between tokens. */
const IGNORED = /(?:[\t\n\r ,\ufeff]+|#[^\n\r]*)+/y;
/** What this reads of the tokens of GraphQL; a number ends where no other token may begin at once. */
const TOKEN =
  /([_A-Za-z]\w*)|(-?(?:0|[1-9]\d*)(?![\w.]))|("[^"\\\p{Cc}]*"(?!"))|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))|\.\.\.|[!$&():=@[\]{|}]/uy;
/** A query, named or not, at the beginning of a text without whitespace. */
const QUERY = /^query(?: ([_A-Za-z]\w*))?(?=[({@])/;
/** Literals of a text that are made variables: each takes as much memory as a field. */
const MAX_LITERALS = 16;
/** A longer name is refused. */
const MAX_NAME = 200;

/**
 * The shape of the text of a query; `null` for one that begins with anything else, or holds what only the parser is
 * to read: escapes, block strings, or what is not GraphQL. Two texts of one shape have the same words and signs. O(n).
 */
export function shapeOf(text: string): TextShape | null {
  // Half of a character is nowhere in GraphQL.
  if (/\p{Surrogate}/u.test(text)) return null;
  const literals: string[] = [];
  let shape = '';
  let wordBefore = false;
  for (let at = skip(IGNORED, text, 0); at < text.length; at = skip(IGNORED, text, at)) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) return null;
    const [token, name, integer, string, float] = found;
    at = TOKEN.lastIndex;
    const isWord = (name ?? integer ?? string ?? float) !== undefined;
    if (wordBefore && (isWord || token === '...')) shape += ' ';
    wordBefore = isWord;
    const literal = integer ?? string;
    if (literal !== undefined) literals.push(literal);
    shape += literal === undefined ? token : integer === undefined ? '""' : '0';
  }
  if (shape.startsWith('{')) return { text: shape, literals, name: null };
  const found = QUERY.exec(shape);
  const name = found?.[1] ?? null;
  if (!found || (name?.length ?? 0) > MAX_NAME) return null;
  return { text: `query${shape.slice(found[0].length)}`, literals, name };
}

/**
 * What queries of a shape go by, whatever their literals are, and with just these; the same where it has none or very
 * many. `accept` says in which form they are answered. No key of a text begins like this: those are JSON.
 */
export function shapeKeys(accept: string, { literals, text }: TextShape): [string, string] {
  const any = `shape\n${accept}\n${text}`;
  const same = literals.length === 0 ? any : `${any}\n${literals.join('\n')}`;
  return literals.length > MAX_LITERALS ? [same, same] : [any, same];
}

/** Where a pattern that may match at a place ends. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
