import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js';
import { NOT_CACHED } from '../../upstream/reader.ts';

/** The fragments of a document by their names. */
export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/** Values of variables, or of arguments, by name. */
export type Variables = Readonly<Record<string, unknown>>;

/** One execution. */
interface Run {
  readonly context: unknown;
  /** The context of all resolvers. */
  readonly shared: Pick<
    GraphQLResolveInfo,
    'fragments' | 'operation' | 'rootValue' | 'schema' | 'variableValues'
  >;
}

/** Converts a resolver's result into the response. */
type Complete = (value: unknown, run: Run) => unknown;

/** One field of a selection on one type of object. */
export interface FieldPlan {
  readonly key: string;
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  /** Null if they depend on variables. */
  readonly args: Variables | null;
  readonly field: GraphQLField<unknown, unknown>;
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  readonly complete: Complete;
  /** Whether its resolver takes a fourth argument. */
  readonly wantsInfo: boolean;
}

/** The selection on one object type, computed once. */
interface ObjectPlan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly FieldPlan[];
}

/** Plans selections for one set of values of the variables that they depend on. */
export class Planner {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Fragments;
  readonly #variables: { readonly [name: string]: unknown };
  #size = 0;
  #varies = false;

  constructor(schema: GraphQLSchema, fragments: Fragments, variables: Variables) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  /** Number of fields planned so far. */
  get size(): number {
    return this.#size;
  }

  /**
   * Plans the top-level fields. A field is `fixed` if it does not depend on variables, as long as no condition
   * changes.
   */
  ofRoot({ selectionSet }: OperationDefinitionNode): {
    readonly type: GraphQLObjectType;
    readonly fields: readonly { readonly plan: FieldPlan; readonly fixed: boolean }[];
  } {
    const type = this.#schema.getQueryType();
    if (!type) throw NOT_CACHED;
    const collected = collectFields(
      this.#schema,
      this.#fragments,
      this.#variables,
      type,
      selectionSet,
    );
    const fields = [...collected].map(([key, nodes]) => {
      this.#varies = false;
      const plan = this.#ofField(type, key, nodes);
      return { plan, fixed: !this.#varies };
    });
    return { type, fields };
  }

  #ofField(type: GraphQLObjectType, key: string, nodes: readonly FieldNode[]): FieldPlan {
    const [node] = nodes;
    const field = node && fieldOf(type, node.name.value);
    // A key of that name would be the object's prototype.
    if (!node || !field || key === '__proto__') throw NOT_CACHED;
    this.#size += 1;
    const args = node.arguments?.some(isVariable) ? null : getArgumentValues(field, node);
    this.#varies ||= args === null;
    const { resolve } = field;
    // A function with rest parameters has no length.
    const wantsInfo = resolve !== undefined && (resolve.length === 0 || resolve.length > 3);
    return {
      key,
      resolve: resolve ?? null,
      args,
      field,
      nodes: [node, ...nodes.slice(1)],
      complete: this.#completion(field.type, nodes),
      wantsInfo,
    };
  }

  #completion(type: GraphQLOutputType, nodes: readonly FieldNode[]): Complete {
    if (isNonNullType(type)) {
      const complete = this.#completion(type.ofType, nodes);
      return (value, run) => {
        const completed = complete(value, run);
        if (completed === null) throw NOT_CACHED;
        return completed;
      };
    }
    if (isLeafType(type)) return leafCompletion(type);
    if (isListType(type)) return listCompletion(this.#completion(type.ofType, nodes));
    return isAbstractType(type)
      ? this.#abstractCompletion(type, nodes)
      : this.#objectCompletion(type, nodes);
  }

  #objectCompletion(type: GraphQLObjectType, nodes: readonly FieldNode[]): Complete {
    if (type.isTypeOf) throw NOT_CACHED;
    const plan = this.#ofSelection(type, nodes);
    return (value, run) => {
      if (value === null || value === undefined) return null;
      return completeObject(plan, atHand(value), run);
    };
  }

  #abstractCompletion(type: GraphQLAbstractType, nodes: readonly FieldNode[]): Complete {
    const { resolveType } = type;
    if (!resolveType) throw NOT_CACHED;
    // Plans every possible type, so that the size of a plan is known from the start.
    const plans = new Map<unknown, ObjectPlan>(
      this.#schema
        .getPossibleTypes(type)
        .map((each) => [each.name, this.#ofSelection(each, nodes)]),
    );
    return (value, run) => {
      if (value === null || value === undefined) return null;
      const source = atHand(value);
      const name = atHand(resolveType(source, run.context, run.shared as GraphQLResolveInfo, type));
      const plan = plans.get(name);
      if (!plan) throw NOT_CACHED;
      return completeObject(plan, source, run);
    };
  }

  #ofSelection(type: GraphQLObjectType, nodes: readonly FieldNode[]): ObjectPlan {
    const collected = collectSubfields(this.#schema, this.#fragments, this.#variables, type, nodes);
    return { type, fields: [...collected].map(([key, same]) => this.#ofField(type, key, same)) };
  }
}

/** A leaf value of the response. */
function leafCompletion(type: GraphQLLeafType): Complete {
  return (value) => {
    if (value === null || value === undefined) return null;
    const serialized = type.serialize(typeof value === 'object' ? atHand(value) : value);
    if (serialized === null || serialized === undefined) throw NOT_CACHED;
    return serialized;
  };
}

/** The items of a list in the response. The first missing item ends the attempt, and all others are released. */
function listCompletion(complete: Complete): Complete {
  return (value, run) => {
    if (value === null || value === undefined) return null;
    const items = atHand(value);
    if (!Array.isArray(items)) throw NOT_CACHED;
    try {
      return items.map((item) => complete(item, run));
    } catch (error) {
      letGo(items);
      throw error;
    }
  };
}

function fieldOf(
  type: GraphQLObjectType,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  return name === TypeNameMetaFieldDef.name ? TypeNameMetaFieldDef : type.getFields()[name];
}

/** Whether the value of an argument or of an object member contains a variable. */
function isVariable({ value }: { readonly value: ValueNode }): boolean {
  if (value.kind === Kind.LIST) return value.values.some((each) => isVariable({ value: each }));
  if (value.kind === Kind.OBJECT) return value.fields.some(isVariable);
  return value.kind === Kind.VARIABLE;
}

/**
 * Completes a selection on one object.
 * @throws NOT_CACHED, or any error of a resolver.
 */
function completeObject({ type, fields }: ObjectPlan, source: unknown, run: Run): object {
  const completed: Record<string, unknown> = {};
  for (const plan of fields) completed[plan.key] = completeField(plan, type, source, run);
  return completed;
}

/**
 * Completes one field of an object.
 * @throws NOT_CACHED, or any error of a resolver.
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

/** The info argument of a resolver without the path, which would be expensive for each row. */
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

  /** @throws NOT_CACHED always: an operation whose resolver uses it is executed normally. */
  get path(): never {
    throw NOT_CACHED;
  }
}

/**
 * The value that a resolver returned, if it is neither a promise nor an error.
 * @throws NOT_CACHED
 */
function atHand(value: unknown): unknown {
  if (value instanceof Promise) {
    letGo([value]);
    throw NOT_CACHED;
  }
  if (value instanceof Error || typeof value === 'function') throw NOT_CACHED;
  return value;
}

/**
 * Handles the rejections of promises that an attempt has started and does not await: they end with the attempt,
 * and the operation is executed normally.
 */
function letGo(values: readonly unknown[]): void {
  for (const value of values) {
    if (value instanceof Promise) value.catch(() => {});
    else if (Array.isArray(value)) letGo(value);
  }
}
