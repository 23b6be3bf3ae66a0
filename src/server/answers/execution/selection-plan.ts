import {
  type FieldNode,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getArgumentValues,
} from 'graphql';
import { NOT_AT_HAND } from '../../../upstream/at-hand-client.ts';

/** Where a value stands in an answer. */
export type Path = GraphQLResolveInfo['path'];
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

/** Makes of what a resolver returned what is answered. `path` is the value's own. */
export type Complete = (value: unknown, run: Run, path: Path | undefined) => unknown;

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
  /** Whether it, or something below it, can ask where it stands. */
  readonly wantsPath: boolean;
}

/** What is selected on one type of object, found out once. */
export interface ObjectPlan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly FieldPlan[];
}

/**
 * Answers a selection on one object.
 * @throws NOT_AT_HAND, or whatever a resolver throws.
 */
export function completeObject(
  { type, fields }: ObjectPlan,
  source: unknown,
  run: Run,
  path: Path | undefined,
): object {
  const completed: Record<string, unknown> = {};
  for (const plan of fields) {
    const { key, resolve, field, complete } = plan;
    const at = plan.wantsPath ? { prev: path, key, typename: type.name } : path;
    let value: unknown;
    if (resolve) {
      const args = plan.args ?? getArgumentValues(field, plan.nodes[0], run.shared.variableValues);
      const info = plan.wantsInfo ? infoOf(plan, type, run, at) : undefined;
      value = resolve(source, args, run.context, info as GraphQLResolveInfo);
    } else {
      value = (source as Readonly<Record<string, unknown>> | undefined)?.[field.name];
    }
    completed[key] = complete(value, run, at);
  }
  return completed;
}

function infoOf(
  { field, nodes }: FieldPlan,
  parentType: GraphQLObjectType,
  { shared }: Run,
  path: Path | undefined,
): GraphQLResolveInfo {
  // Member by member: to spread it would take half of the time of an answer.
  return {
    schema: shared.schema,
    fragments: shared.fragments,
    rootValue: shared.rootValue,
    operation: shared.operation,
    variableValues: shared.variableValues,
    fieldName: field.name,
    fieldNodes: nodes,
    returnType: field.type,
    parentType,
    path: path as Path,
  };
}

/**
 * What a resolver returned, if it is there and no failure.
 * @throws NOT_AT_HAND
 */
export function atHand(value: unknown): unknown {
  if (value instanceof Promise) {
    // Nobody waits for it any more, so that nobody hears how it ends.
    value.catch(() => {});
    throw NOT_AT_HAND;
  }
  if (value instanceof Error || typeof value === 'function') throw NOT_AT_HAND;
  return value;
}
