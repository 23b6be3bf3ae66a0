import type { OperationDefinitionNode } from 'graphql';

/** The name of an operation for logs and spans, truncated if necessary. */
export function operationName({ name }: OperationDefinitionNode): string | null {
  return name?.value.slice(0, 64) ?? null;
}
