import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { GatewayPlugin } from '../request-record.ts';

/** Whether an operation selects a secret, once found out. */
const known = new WeakMap<OperationDefinitionNode, boolean>();

/**
 * Notes on the record whether the answer holds secrets: by the fields of the schema whose extensions say
 * `secret`, wherever the operation selects them. All that must not be done with secrets goes by this:
 * storing, tagging and compressing an answer. See `RequestRecord.holdsSecrets`.
 */
export function useSecrets(): GatewayPlugin {
  return {
    onExecute({ args }) {
      const document = args.document as DocumentNode;
      const operation = getOperationAST(document, args.operationName);
      const { record } = args.contextValue;
      record.holdsSecrets =
        !operation || selectsSecret(args.schema as GraphQLSchema, document, operation);
    },
  };
}

/** Whether an operation selects a secret, by itself or by fragments; `@skip` and `@include` do not count. */
function selectsSecret(
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
        found ||= types.getFieldDef()?.extensions['secret'] === true;
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
