import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { isSecret } from './validity.ts';

/** Whether an operation selects a secret, once found out. */
const known = new WeakMap<OperationDefinitionNode, boolean>();

/** Notes that no operation of a document selects a secret, which was found out on another walk. */
export function noSecretIn({ definitions }: DocumentNode): void {
  for (const definition of definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) known.set(definition, false);
  }
}

/** Whether an operation selects a secret, by itself or by fragments; `@skip` and `@include` do not count. */
export function selectsSecret(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): boolean {
  let found = known.get(operation);
  if (found === undefined) {
    found = finds(schema, document, operation);
    known.set(operation, found);
  }
  return found;
}

function finds(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): boolean {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition);
    }
  }
  let found = false;
  const next: (OperationDefinitionNode | FragmentDefinitionNode)[] = [operation];
  for (let node = next.pop(); node; node = next.pop()) {
    const types = new TypeInfo(schema);
    const visitor = visitWithTypeInfo(types, {
      Field: () => {
        found ||= isSecret(types);
      },
      FragmentSpread: ({ name }) => {
        const fragment = fragments.get(name.value);
        fragments.delete(name.value);
        if (fragment) next.push(fragment);
      },
    });
    visit(node, visitor);
    if (found) return true;
  }
  return false;
}
