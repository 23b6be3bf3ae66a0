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

/** How many parts have a name of their own. */
let named = 0;

/** Variables that selections may depend on: for each set of their values there is another plan. */
const MOST_CONDITIONS = 3;

/** Gives parts of answers that are made seldom. */
export interface Parts {
  /** The JSON of a part by its name, which `make` makes where it is not there. */
  part(name: string, make: () => string): string;
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
  /** What parts go by; null for fields that depend on variables. Of one plan: under another it is another part. */
  readonly #partNames = new Map<FieldPlan, string | null>();

  /** @throws NOT_AT_HAND for an operation that is executed in other ways as well, such as in parts. */
  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode) {
    this.#schema = schema;
    this.#operation = operation;
    const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
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
      const name = this.#partName(field);
      const text = name === null ? make() : parts.part(name, make);
      json += `${json && ','}"${field.key}":${text}`;
    }
    return `{${json}}`;
  }

  #partName(field: FieldPlan): string | null {
    let name = this.#partNames.get(field);
    if (name === undefined) {
      named += 1;
      name = dependsOnVariables(field.nodes, this.#fragments) ? null : String(named);
      this.#partNames.set(field, name);
    }
    return name;
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
