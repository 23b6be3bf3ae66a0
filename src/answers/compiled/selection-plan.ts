import {
  type FieldNode,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getArgumentValues,
} from 'graphql';
import { NOT_CACHED } from '../../upstream/reader.ts';

/** Values of variables, or of arguments, by name. */
export type Variables = Readonly<Record<string, unknown>>;

/** One execution. */
export interface Run {
  readonly context: unknown;
  /** What resolvers of all fields are told. */
  readonly shared: Pick<
    GraphQLResolveInfo,
    'fragments' | 'operation' | 'rootValue' | 'schema' | 'variableValues'
  >;
}

/** Makes of what a resolver returned what is answered. */
export type Complete = (value: unknown, run: Run) => unknown;

/** One field of a selection on one type of object. */
export interface FieldPlan {
  readonly key: string;
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  /** Null where they depend on variables. */
  readonly args: Variables | null;
  readonly field: GraphQLField<unknown, unknown>;
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  readonly complete: Complete;
  /** Whether its resolver takes a fourth argument. */
  readonly wantsInfo: boolean;
}

/** What is selected on one type of object, found out once. */
export interface ObjectPlan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly FieldPlan[];
}

/**
 * Answers a selection on one object.
 * @throws NOT_CACHED, or whatever a resolver throws.
 */
export function completeObject({ type, fields }: ObjectPlan, source: unknown, run: Run): object {
  const completed: Record<string, unknown> = {};
  for (const plan of fields) completed[plan.key] = completeField(plan, type, source, run);
  return completed;
}

/**
 * Answers one field of an object.
 * @throws NOT_CACHED, or whatever a resolver throws.
 */
export function completeField(
  plan: FieldPlan,
  type: GraphQLObjectType,
  source: unknown,
  run: Run,
): unknown {
  const { resolve, field, complete } = plan;
  if (!resolve) {
    const value = (source as Readonly<Record<string, unknown>> | undefined)?.[field.name];
    return complete(value, run);
  }
  const args = plan.args ?? getArgumentValues(field, plan.nodes[0], run.shared.variableValues);
  const info = plan.wantsInfo ? new ResolveInfo(plan, type, run) : undefined;
  return complete(resolve(source, args, run.context, info as GraphQLResolveInfo), run);
}

/** What a resolver is told of where it stands: all but the path, which would cost each row of an answer. */
class ResolveInfo implements GraphQLResolveInfo {
  readonly fieldName: string;
  readonly fieldNodes: readonly FieldNode[];
  readonly returnType: GraphQLOutputType;
  readonly parentType: GraphQLObjectType;
  readonly schema: GraphQLResolveInfo['schema'];
  readonly fragments: GraphQLResolveInfo['fragments'];
  readonly rootValue: unknown;
  readonly operation: GraphQLResolveInfo['operation'];
  readonly variableValues: GraphQLResolveInfo['variableValues'];

  constructor({ field, nodes }: FieldPlan, parentType: GraphQLObjectType, { shared }: Run) {
    this.fieldName = field.name;
    this.fieldNodes = nodes;
    this.returnType = field.type;
    this.parentType = parentType;
    this.schema = shared.schema;
    this.fragments = shared.fragments;
    this.rootValue = shared.rootValue;
    this.operation = shared.operation;
    this.variableValues = shared.variableValues;
  }

  /** @throws NOT_CACHED always: a resolver that asks for it is answered the whole way. */
  get path(): never {
    throw NOT_CACHED;
  }
}

/**
 * What a resolver returned, if it is there and no failure.
 * @throws NOT_CACHED
 */
export function atHand(value: unknown): unknown {
  if (value instanceof Promise) {
    letGo([value]);
    throw NOT_CACHED;
  }
  if (value instanceof Error || typeof value === 'function') throw NOT_CACHED;
  return value;
}

/**
 * Handles the rejections of the promises among values that an attempt has started and does not wait for: they end
 * with the attempt, and the operation is answered the whole way.
 */
export function letGo(values: readonly unknown[]): void {
  for (const value of values) {
    if (value instanceof Promise) value.catch(() => {});
    else if (Array.isArray(value)) letGo(value);
  }
}
