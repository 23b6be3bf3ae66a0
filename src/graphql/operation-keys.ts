import { collectFields } from '@graphql-tools/utils';
import {
  type ASTVisitor,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  getDirectiveValues,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type ValidationContext,
} from 'graphql';
import { BadUserInput } from '../errors.ts';
import { idempotentDirective } from '../graph/directives/directives.ts';
import { KeyedFields, nameOfKey, type SentKey } from '../graph/keyed/keyed-fields.ts';
import { checkIdempotencyKey, readIdempotencyKey } from '../http/door/headers/idempotency-key.ts';

/** A valid operation with its variables as they were sent. */
interface SentOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly variables: Readonly<Record<string, unknown>>;
}

/**
 * The idempotency keys of an operation: each field of a mutation has that of its directive, otherwise that of the
 * `header` with the field's number in the order of execution. `null` if there are none, as for each query. All are
 * checked before the first field is executed.
 * @throws BadUserInput `BAD_USER_INPUT` for an invalid key, two keys for one field, one key for two fields, and a field
 * that returns a secret.
 */
export function keysOfOperation(sent: SentOperation, header: string | null): KeyedFields | null {
  const { document, operation, schema } = sent;
  const type = schema.getMutationType();
  if (operation.operation !== OperationTypeNode.MUTATION || !type) return null;
  const ofHeader = readIdempotencyKey(header);
  if (ofHeader === null && !mayHaveKeys(document)) return null;
  const executed = executedFields(sent, type);
  // The execution reports invalid variables, and executes no field.
  if (!executed) return null;
  const { coerced, fields } = executed;
  const keys = new Map<string, SentKey>();
  const fieldsByKey = new Map<string, string>();
  let place = 0;
  for (const [responseName, nodes] of fields) {
    if (isIntrospection(nodes)) continue;
    place += 1;
    const own = keyOfDirective(responseName, nodes, coerced);
    const text = own ?? ofHeader;
    if (text === null) continue;
    refuseSecret(type, nodes);
    const key = { text, place: own === null ? place : 1 };
    const other = fieldsByKey.get(nameOfKey(key));
    if (other !== undefined) throw sharedKey(responseName, other);
    fieldsByKey.set(nameOfKey(key), responseName);
    keys.set(responseName, key);
  }
  return keys.size === 0 ? null : new KeyedFields(keys);
}

/** The fields of a root type that an operation executes, in their order, and its coerced variables. */
interface ExecutedFields {
  readonly coerced: Record<string, unknown>;
  /** The nodes of each field by its response name. */
  readonly fields: ReadonlyMap<string, readonly FieldNode[]>;
}

/** `null` for invalid variables. */
function executedFields(
  { document, operation, schema, variables }: SentOperation,
  type: GraphQLObjectType,
): ExecutedFields | null {
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  if (!coerced) return null;
  const { fields } = collectFields(
    schema,
    fragmentsOf(document),
    coerced,
    type,
    operation.selectionSet,
  );
  return { coerced, fields };
}

/** Whether a text contains the directive's name: few texts need more. */
function mayHaveKeys({ loc }: DocumentNode): boolean {
  return !loc || loc.source.body.includes(idempotentDirective.name);
}

function fragmentsOf({ definitions }: DocumentNode): Record<string, FragmentDefinitionNode> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  return fragments;
}

function isIntrospection([node]: readonly FieldNode[]): boolean {
  return node?.name.value.startsWith('__') === true;
}

/** The key by the directive on any of a field's nodes, which are executed as one; `null` if there is none. */
function keyOfDirective(
  responseName: string,
  nodes: readonly FieldNode[],
  variables: Record<string, unknown>,
): string | null {
  const place = `The argument "key" of @idempotent on "${responseName}"`;
  const keys = new Set<string>();
  for (const node of nodes) {
    const given = getDirectiveValues(idempotentDirective, node, variables)?.['key'];
    if (typeof given === 'string') keys.add(checkIdempotencyKey(given, place));
  }
  if (keys.size > 1) {
    throw new BadUserInput(`"${responseName}" has more than one idempotency key. Send one key.`);
  }
  const [key = null] = keys;
  return key;
}

/** Otherwise the second field would fail, or return the result of the first, after that was executed. */
function sharedKey(responseName: string, other: string): BadUserInput {
  return new BadUserInput(
    `"${responseName}" has the idempotency key of "${other}". Send a different key for each field.`,
  );
}

/** The gateway stores no secrets, so a retry could not get the same result. */
function refuseSecret(type: GraphQLObjectType, [node]: readonly FieldNode[]): void {
  const name = node?.name.value ?? '';
  if (type.getFields()[name]?.extensions['returnsSecret'] !== true) return;
  throw new BadUserInput(
    `"${name}" cannot have an idempotency key, because its result is a secret, which the gateway does not store. Send it in an operation of its own, without a key.`,
  );
}

/** A validation rule: the directive is on a field of the mutation itself. */
export function idempotentFieldsRule(context: ValidationContext): ASTVisitor {
  return {
    Directive(node) {
      if (node.name.value !== idempotentDirective.name) return;
      if (context.getParentType() === context.getSchema().getMutationType()) return;
      const message =
        'The directive @idempotent applies to fields of a mutation only: to "createChannel" in "mutation { createChannel(…) @idempotent(key: …) { … } }".';
      context.reportError(new GraphQLError(message, { nodes: [node] }));
    },
  };
}
