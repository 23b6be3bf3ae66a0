import type { IncomingMessage } from 'node:http';
import type { OperationDefinitionNode } from 'graphql';
import { envelopeFault, isAbsent, isObject } from '../http/door/envelope.ts';
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
