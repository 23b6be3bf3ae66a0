import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql';
import { NOT_AT_HAND } from '../../../upstream/at-hand-client.ts';
import { dependsOnVariables, Planner } from './planner.ts';
import {
  completeField,
  type FieldPlan,
  type ObjectPlan,
  type Variables,
} from './selection-plan.ts';

/** Variables that selections may depend on: for each set of their values there is another plan. */
const MOST_CONDITIONS = 3;

/** Gives parts of answers that are made seldom. */
export interface Parts {
  /** The JSON of a part, which `make` makes where it is not there. */
  part(key: string, make: () => string): string;
}

let ids = 0;

function nextId(): number {
  ids += 1;
  return ids;
}

/**
 * A query that was found valid, prepared for being answered at once, again and again, as `execute` of GraphQL
 * answers it when nothing goes wrong: whatever does, a field that fails, a null where none may be, a resolver
 * that takes a promise, ends the attempt. So there is one place that knows about errors, and it is not this.
 */
export class CompiledOperation {
  readonly #schema: GraphQLSchema;
  readonly #operation: OperationDefinitionNode;
  readonly #fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly #conditions: readonly string[];
  readonly #plans = new Map<string, ObjectPlan>();
  readonly #constants = new Map<FieldPlan, boolean>();
  /** What its parts are told from those of others by. */
  readonly #id = nextId();

  /** @throws NOT_AT_HAND for an operation that is executed in other ways as well, such as in parts. */
  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode) {
    this.#schema = schema;
    this.#operation = operation;
    const fragments: Record<string, FragmentDefinitionNode> = {};
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) {
        fragments[definition.name.value] = definition;
      }
    }
    this.#fragments = fragments;
    this.#conditions = conditionsOf(document);
  }

  /**
   * The data of the answer as JSON, executed at once. `parts` gives what was made before of the fields at the
   * top that are the same whatever the variables are.
   * @throws NOT_AT_HAND, or whatever else a resolver throws.
   */
  run(context: unknown, given: Variables, parts: Parts): string {
    const definitions = this.#operation.variableDefinitions ?? [];
    const { coerced } = getVariableValues(this.#schema, definitions, given, { maxErrors: 1 });
    if (!coerced) throw NOT_AT_HAND;
    const shared = {
      schema: this.#schema,
      fragments: this.#fragments,
      rootValue: undefined,
      operation: this.#operation,
      variableValues: coerced,
    };
    const { type, fields } = this.#planFor(coerced);
    let json = '';
    for (const field of fields) {
      const make = () => JSON.stringify(completeField(field, type, undefined, { context, shared }));
      const text = this.#isConstant(field) ? parts.part(`${this.#id} ${field.key}`, make) : make();
      json += `${json && ','}"${field.key}":${text}`;
    }
    return `{${json}}`;
  }

  #isConstant(field: FieldPlan): boolean {
    let constant = this.#constants.get(field);
    if (constant === undefined) {
      constant = !dependsOnVariables(field.nodes, this.#fragments);
      this.#constants.set(field, constant);
    }
    return constant;
  }

  #planFor(variables: Variables): ObjectPlan {
    const key = this.#conditions.map((name) => String(variables[name])).join();
    let plan = this.#plans.get(key);
    if (!plan) {
      plan = new Planner(this.#schema, this.#fragments, variables).ofRoot(this.#operation);
      this.#plans.set(key, plan);
    }
    return plan;
  }
}

/**
 * The variables on which selections depend.
 * @throws NOT_AT_HAND for too many of them, and for any directive that is not known here.
 */
function conditionsOf(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Directive({ name, arguments: given = [] }) {
      if (name.value !== 'skip' && name.value !== 'include') throw NOT_AT_HAND;
      for (const { value } of given) {
        if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      }
    },
  });
  if (names.size > MOST_CONDITIONS) throw NOT_AT_HAND;
  return [...names];
}
