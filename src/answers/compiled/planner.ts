import {
  type FieldNode,
  type GraphQLAbstractType,
  type GraphQLField,
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
  type OperationDefinitionNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js';
import { NOT_CACHED } from '../../upstream/reader.ts';
import { type Fragments, hasVariables } from './conditions.ts';
import {
  atHand,
  type Complete,
  completeObject,
  type FieldPlan,
  letGo,
  type ObjectPlan,
  type Variables,
} from './selection-plan.ts';

/** Plans selections for one set of values of the variables that they depend on. */
export class Planner {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Fragments;
  readonly #variables: { readonly [name: string]: unknown };
  #size = 0;

  constructor(schema: GraphQLSchema, fragments: Fragments, variables: Variables) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  /** How many fields were planned so far. */
  get size(): number {
    return this.#size;
  }

  ofRoot(operation: OperationDefinitionNode): ObjectPlan {
    const type = this.#schema.getQueryType();
    if (!type) throw NOT_CACHED;
    return this.#ofFields(
      type,
      collectFields(this.#schema, this.#fragments, this.#variables, type, operation.selectionSet),
    );
  }

  #ofFields(
    type: GraphQLObjectType,
    collected: ReadonlyMap<string, readonly FieldNode[]>,
  ): ObjectPlan {
    return { type, fields: [...collected].map(([key, nodes]) => this.#ofField(type, key, nodes)) };
  }

  #ofField(type: GraphQLObjectType, key: string, nodes: readonly FieldNode[]): FieldPlan {
    const [node] = nodes;
    const field = node && fieldOf(type, node.name.value);
    // A key of that name would be the object's prototype.
    if (!node || !field || key === '__proto__') throw NOT_CACHED;
    this.#size += 1;
    const { resolve } = field;
    // Those that take all their arguments at once have no length.
    const wantsInfo = resolve !== undefined && (resolve.length === 0 || resolve.length > 3);
    return {
      key,
      resolve: resolve ?? null,
      args: hasVariables(node.arguments) ? null : getArgumentValues(field, node),
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
    // For every type there is, so that it is known from the start how much a plan holds.
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
    return this.#ofFields(
      type,
      collectSubfields(this.#schema, this.#fragments, this.#variables, type, nodes),
    );
  }
}

/** A leaf as the answer has it. */
function leafCompletion(type: GraphQLLeafType): Complete {
  return (value) => {
    if (value === null || value === undefined) return null;
    const serialized = type.serialize(typeof value === 'object' ? atHand(value) : value);
    if (serialized === null || serialized === undefined) throw NOT_CACHED;
    return serialized;
  };
}

/** Items as the answer has them. The first that is not there ends the attempt, so all others are let go of. */
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
