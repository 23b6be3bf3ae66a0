import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { NOT_CACHED } from '../../upstream/reader.ts';
import { conditionKey, conditionsOf, dependsOnVariables, type Fragments } from './conditions.ts';
import { Planner } from './planner.ts';
import type { CompiledPlan, CompiledPlans } from './plans.ts';
import { completeField, type Variables } from './selection-plan.ts';

/** How many operations and parts have a name of their own. */
let named = 0;

/** Gives parts of answers that are made seldom. */
export interface Parts {
  /** The JSON of a part by its name, which `make` makes where it is not there. */
  part(name: string, make: () => string): string;
}

/** An operation that was found valid, and what it is read in. */
interface Compilable {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/**
 * A query that was found valid, prepared for being answered at once, again and again, as `execute` of GraphQL
 * answers it when nothing goes wrong: whatever does, a field that fails, a null where none may be, a resolver
 * that takes a promise, ends the attempt. So there is one place that knows about errors, and it is not this.
 */
export class CompiledOperation {
  readonly #schema: GraphQLSchema;
  readonly #operation: OperationDefinitionNode;
  readonly #fragments: Fragments;
  readonly #conditions: readonly string[];
  readonly #plans: CompiledPlans | null;
  readonly #name = newName();

  /**
   * `plans` holds what is planned, with that of all other operations; `null` for one that is run once.
   * @throws NOT_CACHED for an operation that is executed in other ways as well, such as in parts.
   */
  constructor({ document, operation, schema }: Compilable, plans: CompiledPlans | null) {
    this.#schema = schema;
    this.#operation = operation;
    this.#plans = plans;
    const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) {
        fragments[definition.name.value] = definition;
      }
    }
    this.#fragments = fragments;
    this.#conditions = conditionsOf(operation, fragments);
  }

  /**
   * The data of the answer as JSON, executed at once. `parts` gives what was made before of the fields at the
   * top that are the same whatever the variables are; `null` where none is to be kept.
   * @throws NOT_CACHED, or whatever else a resolver throws.
   */
  run(context: unknown, given: Variables, parts: Parts | null): string {
    const definitions = this.#operation.variableDefinitions ?? [];
    const { coerced } = getVariableValues(this.#schema, definitions, given, { maxErrors: 1 });
    if (!coerced) throw NOT_CACHED;
    const shared = {
      schema: this.#schema,
      fragments: this.#fragments,
      rootValue: undefined,
      operation: this.#operation,
      variableValues: coerced,
    };
    const { type, fields } = this.#planFor(coerced);
    let json = '';
    for (const { part, plan } of fields) {
      const make = () => JSON.stringify(completeField(plan, type, undefined, { context, shared }));
      const text = part === null || !parts ? make() : parts.part(part, make);
      json += `${json && ','}"${plan.key}":${text}`;
    }
    return `{${json}}`;
  }

  #planFor(variables: Variables): CompiledPlan {
    const condition = conditionKey(this.#conditions, variables);
    if (!this.#plans) return this.#plan(variables);
    const key = `${this.#name} ${condition}`;
    let plan = this.#plans.get(key);
    if (!plan) {
      plan = this.#plan(variables);
      this.#plans.set(key, plan);
    }
    return plan;
  }

  #plan(variables: Variables): CompiledPlan {
    const planner = new Planner(this.#schema, this.#fragments, variables);
    const { type, fields } = planner.ofRoot(this.#operation);
    // Of one plan: under another it is another part.
    const partOf = (nodes: (typeof fields)[number]['nodes']) =>
      !this.#plans || dependsOnVariables(nodes, this.#fragments) ? null : newName();
    const { size } = planner;
    return { type, size, fields: fields.map((plan) => ({ plan, part: partOf(plan.nodes) })) };
  }
}

function newName(): string {
  named += 1;
  return String(named);
}
