import type { IncomingMessage } from 'node:http';
import type { OperationDefinitionNode } from 'graphql';
import { envelopeFault, isAbsent, isObject } from '../http/door/body/operation-body.ts';
import type { ReadText } from './compiled/read-text.ts';

/** What a request of the plain kind goes by. */
export interface RequestNames {
  /** All that its answer depends on. */
  readonly answer: string;
  /** All that says which operation it is, and in which form it is answered; `null` where that is not plain. */
  readonly operation: string | null;
  /** What its client accepts, which says in which form it is answered. */
  readonly accept: string;
  /** Whether the operation is asked for by its text alone. */
  readonly isText: boolean;
  /** What was read of the text so far. */
  read: ReadText | null;
}

/** An operation as a request of the plain kind asks for it. */
export interface AskedOperation {
  readonly key: string;
  /** Its text, where nothing but that says what it is; `null` where there is an id, or anything of an extension. */
  readonly text: string | null;
  /** Which operation of the text is wanted. */
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
}

/**
 * Reads which operation a request asks for, in its body or, where that is null, in its address. By text and
 * by id are two ways to ask; `null` for one that says anything else besides, or nothing that can be read.
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

/** The parameters in an address, of which some are JSON; `undefined` where one is none, or is there twice. */
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

/** What logs and spans call an operation: its name, as far as that is not longer than a name should be. */
export function operationName({ name }: OperationDefinitionNode): string | null {
  return shortName(name?.value ?? null);
}

/** A name, as far as it is not longer than a name should be. */
export function shortName(name: string | null): string | null {
  return name?.slice(0, 64) ?? null;
}

/** The text of a query without all that differs between texts which one plan answers. */
export interface TextShape {
  /** What queries of this shape go by, whatever their literals are; the same as `same` where it has none or very many. */
  readonly any: string;
  /** ... and with just these literals. */
  readonly same: string;
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
 * to read: escapes, block strings, or what is not GraphQL. Two texts of one shape have the same words and signs.
 * `accept` says in which form it is answered. O(n).
 */
export function shapeOf(accept: string, text: string): TextShape | null {
  // Half of a character is nowhere in GraphQL.
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
  // No key of a text begins like this: those are JSON.
  const any = `shape\n${accept}\n${shape}`;
  const same = literals.length === 0 ? any : `${any}\n${literals.join('\n')}`;
  return { any: literals.length > MAX_LITERALS ? same : any, same, literals, name };
}

/** Where a pattern that may match at a place ends. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
