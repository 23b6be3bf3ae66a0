import type { IncomingMessage } from 'node:http';
import type { OperationDefinitionNode } from 'graphql';
import type { Viewer } from '../../auth/viewer.ts';

/** What a request of the plain kind goes by. */
export interface RequestNames {
  /** All that its answer depends on. */
  readonly answer: string;
  /** All that says which operation it is, and in which form it is answered; `null` where that is not plain. */
  readonly operation: string | null;
}

/** An operation as a request of the plain kind asks for it. */
export interface AskedOperation {
  readonly key: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** All that an answer depends on: whose data, what the caller may do, in which form, and the request itself. */
export function answerKeyOf(
  { linksCredential, role }: Viewer,
  { headers, method }: IncomingMessage,
  text: string,
): string {
  const { accept = '', 'content-type': type = '' } = headers;
  // No header has a line break in it, so that none can pass for two of them.
  return [linksCredential?.partition, role, method, accept, type, text].join('\n');
}

/**
 * Reads which operation a body asks for. By text and by id are two ways to ask; `null` for a body that says
 * anything else besides, or nothing that can be read.
 */
export function askedOperation(
  { headers }: Pick<IncomingMessage, 'headers'>,
  body: Buffer,
): AskedOperation | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString());
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
  const { query, operationName, variables, extensions, documentId, ...others } = parsed as Readonly<
    Record<string, unknown>
  >;
  if (Object.keys(others).length > 0) return null;
  const given = variables ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) return null;
  // As JSON, which has no line break in it: a text can have any.
  const names = JSON.stringify([headers.accept, operationName, documentId, extensions]);
  if (query !== undefined && typeof query !== 'string') return null;
  return { key: `${names}\n${query ?? ''}`, variables: given as AskedOperation['variables'] };
}

/** What logs and spans call an operation: its name, as far as that is not longer than a name should be. */
export function operationName({ name }: OperationDefinitionNode): string | null {
  return name?.value.slice(0, 64) ?? null;
}
