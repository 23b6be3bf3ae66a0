import type { IncomingMessage } from 'node:http';
import {
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
} from 'graphql';
import { isJson } from './door/body/operation-body.ts';
import { idempotencyKeyHeader } from './door/headers/idempotency-key.ts';

/** What an operation is sent as. */
interface Envelope {
  readonly query?: unknown;
  readonly operationName?: unknown;
  readonly documentId?: unknown;
}

/**
 * Whether a request may be sent again although it may have been executed: it changes nothing, or has idempotency keys. One
 * that cannot be read may not. `body`: if it is known as a whole. `operations`: texts by id.
 */
export function isRepeatable(
  { headers, method = '', url = '' }: IncomingMessage,
  body: Buffer | null,
  operations: ReadonlyMap<string, string> | null,
): boolean {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return true;
  if (headers[idempotencyKeyHeader] !== undefined) return true;
  if (!url.startsWith('/graphql') || !body || !isJson(headers['content-type'])) return false;
  try {
    const { documentId, operationName, query }: Envelope = JSON.parse(body.toString());
    const text = query ?? operations?.get(String(documentId));
    if (typeof text !== 'string') return false;
    const name = typeof operationName === 'string' ? operationName : null;
    // The owner refuses a text without it.
    const operation = getOperationAST(parse(text, { noLocation: true }), name);
    return operation?.operation !== OperationTypeNode.MUTATION || isKeyed(operation);
  } catch {
    return false;
  }
}

/** Whether each field of a mutation has a key of its own. */
function isKeyed({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (node) =>
      node.kind === Kind.FIELD && node.directives?.some(({ name }) => name.value === 'idempotent'),
  );
}
