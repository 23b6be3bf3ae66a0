import type { IncomingMessage } from 'node:http';
import type { OperationDefinitionNode } from 'graphql';
import { envelopeFault, isAbsent, isObject } from '../http/door/body/operation-body.ts';
import type { ReadText } from './compiled/read-text.ts';

/** The identity of a simple request. */
export interface RequestNames {
  /** All inputs of its response. */
  readonly answer: string;
  /** All that identifies the operation and the content type; `null` if that is not simple. */
  readonly operation: string | null;
  /** The client's `Accept` header, which determines the content type. */
  readonly accept: string;
  /** Whether the operation is identified by its text alone. */
  readonly isText: boolean;
  /** The parsed part of the text. */
  read: ReadText | null;
}

/** An operation in a simple request. */
export interface AskedOperation {
  readonly key: string;
  /** Its text, if only that identifies the operation; `null` if there is an id or an extension. */
  readonly text: string | null;
  /** The name of the requested operation in the text. */
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
}

/**
 * Reads which operation a request contains, in its body or, if that is null, in its URL. It can be identified by
 * text or by id; `null` for a request with other members, or one that cannot be parsed.
 */
export function askedOperation(
  { headers, url = '' }: Pick<IncomingMessage, 'headers' | 'url'>,
  body: Buffer | null,
): AskedOperation | null {
  const parameters = body ? parse(body.toString()) : parametersOf(url);
  if (!isObject(parameters) || envelopeFault(parameters) !== null) return null;
  const { query = '', operationName, variables, extensions, documentId, ...others } = parameters;
  if (typeof query !== 'string' || Object.keys(others).length > 0) return null;
  const given = (variables ?? {}) as AskedOperation['variables'];
  // As JSON, which has no line break in it: a text can have any.
  const names = JSON.stringify([headers.accept, operationName, documentId, extensions]);
  return {
    key: `${names}\n${query}`,
    text: query !== '' && isAbsent(documentId) && isAbsent(extensions) ? query : null,
    operationName: (operationName ?? null) as string | null,
    variables: given,
  };
}

/** The parameters of a URL, some of which are JSON; `undefined` if one is invalid or repeated. */
function parametersOf(url: string): unknown {
  const parameters: Record<string, unknown> = {};
  for (const [name, text] of new URLSearchParams(url.slice(url.indexOf('?') + 1))) {
    const isJson = name === 'variables' || name === 'extensions';
    const value = isJson ? parse(text) : text;
    if (value === undefined || Object.hasOwn(parameters, name)) return undefined;
    parameters[name] = value;
  }
  return parameters;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The name of an operation for logs and spans, truncated if necessary. */
export function operationName({ name }: OperationDefinitionNode): string | null {
  return shortName(name?.value ?? null);
}

/** A name, truncated to the maximum length. */
export function shortName(name: string | null): string | null {
  return name?.slice(0, 64) ?? null;
}

/** The text of a query without the differences that one plan covers. */
export interface TextShape {
  /**
   * The key of queries of this shape, with any literals; equal to `same` if there are none or very many.
   */
  readonly any: string;
  /** The key of queries of this shape with exactly these literals. */
  readonly same: string;
  /** The integers and strings that were removed, in the order of the text. */
  readonly literals: readonly string[];
  /** The name that was left out; `null` for none. */
  readonly name: string | null;
}

/** The text between tokens. */
const IGNORED = /(?:[\t\n\r ,\ufeff]+|#[^\n\r]*)+/y;
/** The tokens of GraphQL that are supported here; a number ends where no other token may begin. */
const TOKEN =
  /([_A-Za-z]\w*)|(-?(?:0|[1-9]\d*)(?![\w.]))|("[^"\\\p{Cc}]*"(?!"))|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))|\.\.\.|[!$&():=@[\]{|}]/uy;
/** A query, named or not, at the beginning of a text without whitespace. */
const QUERY = /^query(?: ([_A-Za-z]\w*))?(?=[({@])/;
/** Maximum number of literals replaced by variables: each takes as much memory as a field. */
const MAX_LITERALS = 16;
/** Maximum length of a name. */
const MAX_NAME = 200;

/**
 * The shape of the text of a query; `null` for one that begins with anything else, or contains what only the
 * parser supports: escapes, block strings, or invalid GraphQL. Two texts of one shape have the same words and
 * punctuators. `accept` determines the content type. O(n).
 */
export function shapeOf(accept: string, text: string): TextShape | null {
  // GraphQL does not allow half of a character.
  if (/\p{Surrogate}/u.test(text)) return null;
  const literals: string[] = [];
  /** With `0` for every integer and `""` for every string; without comments and whitespace. */
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
  let name: string | null = null;
  if (!shape.startsWith('{')) {
    const found = QUERY.exec(shape);
    name = found?.[1] ?? null;
    if (!found || (name?.length ?? 0) > MAX_NAME) return null;
    shape = `query${shape.slice(found[0].length)}`;
  }
  // The keys of texts are JSON and do not start like this.
  const any = `shape\n${accept}\n${shape}`;
  const same = literals.length === 0 ? any : `${any}\n${literals.join('\n')}`;
  return { any: literals.length > MAX_LITERALS ? same : any, same, literals, name };
}

/** The end of a pattern that may match at a position. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
