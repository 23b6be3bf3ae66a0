import { type GraphQLField, type GraphQLSchema, getArgumentValues } from 'graphql';
import { BadUserInput } from '../../errors.ts';
import { executedFields } from '../../graphql/operation-keys.ts';
import type { AgentOperation } from '../agent-graph.ts';

/** A root field of a mutation, with what it is executed with. */
export interface ChangedField {
  readonly field: GraphQLField<unknown, unknown>;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Changes that a person must confirm, even if the operator allows the others without confirmation. */
const ALWAYS_CONFIRMED = /^(?:delete\w+|updateAccount|createLoginUrl|subscribeUser)$/;

/** Whether a person must confirm a change, even if the operator allows changes without confirmation. */
export function isAlwaysConfirmed({ field: { name } }: ChangedField): boolean {
  return ALWAYS_CONFIRMED.test(name);
}

/** Whether the result of a change is a secret. Such a change has no idempotency key, because no secret is stored. */
export function returnsSecret({ field: { extensions } }: ChangedField): boolean {
  return extensions['returnsSecret'] === true;
}

/**
 * The root fields that a mutation executes, in their order.
 * @throws BadUserInput `BAD_USER_INPUT` for invalid variables, and for a mutation without fields.
 * @throws GraphQLError for invalid arguments.
 */
export function changedFields(schema: GraphQLSchema, operation: AgentOperation): ChangedField[] {
  const type = schema.getMutationType();
  const executed = type ? executedFields({ schema, ...operation }, type) : null;
  if (!type || !executed) {
    throw new BadUserInput('The variables do not match the types that the operation declares.');
  }
  const { coerced, fields } = executed;
  const changed = [...fields.values()].flatMap(([node]): ChangedField[] => {
    const field = node && type.getFields()[node.name.value];
    return field ? [{ field, args: getArgumentValues(field, node, coerced) }] : [];
  });
  if (changed.length === 0) throw new BadUserInput('The mutation executes no field.');
  return changed;
}
