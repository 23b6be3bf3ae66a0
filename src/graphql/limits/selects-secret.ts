import {
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

/** Whether an operation selects a secret, once found out. */
const known = new WeakMap<OperationDefinitionNode, boolean>();

/**
 * Whether an operation of a valid document selects a secret, directly or by fragments; `@skip` and `@include` are
 * ignored. O(n) for the first time.
 */
export function selectsSecret(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): boolean {
  let found = known.get(operation);
  if (found === undefined) {
    // With the fragments that it uses.
    const own = separateOperations(document)[operation.name?.value ?? ''];
    found = own !== undefined && finds(schema, own);
    known.set(operation, found);
  }
  return found;
}

function finds(schema: GraphQLSchema, document: DocumentNode): boolean {
  const types = new TypeInfo(schema);
  let found = false;
  const visitor = visitWithTypeInfo(types, {
    Field() {
      found ||= types.getFieldDef()?.extensions['secret'] === true;
    },
  });
  visit(document, visitor);
  return found;
}
