import {
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql';
import { BoundedMap } from '../../bounded-map.ts';
import { NOT_CACHED } from '../../upstream/reader.ts';
import {
  completeField,
  type FieldPlan,
  type Fragments,
  Planner,
  type Variables,
} from './planner.ts';
import type { ReadQuery } from './read-text.ts';

/** Maximum number of stored planned fields of all operations; each takes about 400 bytes. */
const MAX_FIELDS = 4 * 1024;

/** Maximum number of variables on which selections may depend: each combination of their values needs a plan. */
const MOST_CONDITIONS = 3;

/** A field at the top of an operation. */
interface RootField {
  readonly plan: FieldPlan;
  /** The name of its part of the response; `null` if that depends on variables. */
  readonly part: string | null;
}

/** A whole operation, planned for one combination of values of the variables on which its selections depend. */
interface CompiledPlan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly RootField[];
  /** Number of all planned fields, including those on every possible type. */
  readonly size: number;
}

/** The plans of all operations in bounded memory: the least recently used are removed and planned again when needed. */
export type CompiledPlans = BoundedMap<CompiledPlan>;

/** Creates the storage of plans of one gateway. */
export function createCompiledPlans(): CompiledPlans {
  return new BoundedMap({ max: MAX_FIELDS, maxShare: 3 / 4, weigh: (_key, { size }) => size });
}

/** Maximum number of operations and parts with a separate name. */
let named = 0;

/** Stores parts of responses that rarely change. */
export interface Parts {
  /** The JSON of a part by its name; `make` creates it if it is missing. */
  part(name: string, make: () => string): string;
}

/**
 * A valid query, prepared for repeated synchronous execution with the same result as GraphQL's `execute` without
 * errors. A field that fails, a null in a non-null field or a resolver that returns a promise ends the attempt. So
 * errors are handled only in the normal execution.
 */
export class CompiledOperation {
  readonly #schema: GraphQLSchema;
  readonly #operation: OperationDefinitionNode;
  readonly #fragments: Fragments;
  readonly #conditions: readonly string[];
  readonly #plans: CompiledPlans | null;
  readonly #name = newName();

  /**
   * `plans` stores the plans of all operations; `null` for an operation that is run once.
   * @throws NOT_CACHED for an operation that is executed in other ways as well, such as in parts.
   */
  constructor({ document, operation, schema }: ReadQuery, plans: CompiledPlans | null) {
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
   * The data of the response as JSON, executed synchronously. `parts` stores the top-level fields that do not
   * depend on variables; `null` if none is to be stored.
   * @throws NOT_CACHED, or any error of a resolver.
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
    const { size } = planner;
    // A part belongs to one plan.
    const isKept = this.#plans !== null;
    return {
      type,
      size,
      fields: fields.map(({ plan, fixed }) => ({ plan, part: isKept && fixed ? newName() : null })),
    };
  }
}

function newName(): string {
  named += 1;
  return String(named);
}

/**
 * The variables on which the selections of an operation depend. Other operations of the document are ignored: a
 * variable of the same name can have any type there.
 * @throws NOT_CACHED for too many of them, and for any unknown directive.
 */
function conditionsOf(operation: OperationDefinitionNode, fragments: Fragments): string[] {
  const names = new Set<string>();
  for (const { directives = [] } of reachedFrom(operation, fragments)) {
    for (const { name, arguments: given = [] } of directives) {
      if (name.value !== 'skip' && name.value !== 'include') throw NOT_CACHED;
      for (const { value } of given) {
        if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      }
    }
  }
  for (const { directives = [] } of operation.variableDefinitions ?? []) {
    if (directives.length > 0) throw NOT_CACHED;
  }
  if (names.size > MOST_CONDITIONS) throw NOT_CACHED;
  return [...names];
}

/**
 * The values of conditions as one letter each.
 * @throws NOT_CACHED for a value that is not a boolean, with which no selection is valid.
 */
function conditionKey(conditions: readonly string[], variables: Variables): string {
  let key = '';
  for (const name of conditions) {
    const value = variables[name];
    if (typeof value !== 'boolean') throw NOT_CACHED;
    key += value ? 'y' : 'n';
  }
  return key;
}

/** A node with a selection or directives. */
type Selecting = OperationDefinitionNode | FragmentDefinitionNode | SelectionNode;

/** An operation with all selections below, and once each with the fragments that they spread. */
function reachedFrom(operation: OperationDefinitionNode, fragments: Fragments): Set<Selecting> {
  const reached = new Set<Selecting>([operation]);
  // A set iterates over elements added during the loop.
  for (const node of reached) {
    if (node.kind !== Kind.FRAGMENT_SPREAD) {
      for (const selection of node.selectionSet?.selections ?? []) reached.add(selection);
    } else if (fragments[node.name.value]) {
      reached.add(fragments[node.name.value] as FragmentDefinitionNode);
    }
  }
  return reached;
}

/** Number of failed attempts in a row after which most attempts are skipped, */
const MOST_MISSES = 8;
/** ... except for one in this many. */
const TRY_EVERY = 16;

/** The attempts to execute one operation synchronously. Repeated failures make them rare. */
export class Attempts {
  readonly #plans: CompiledPlans | null;
  /** Created on first use; null if that is impossible. */
  #compiled: CompiledOperation | null | undefined;
  /** Number of failed attempts in a row. */
  #misses = 0;

  /** `plans` stores the plans of all operations; `null` for an operation that is run once. */
  constructor(plans: CompiledPlans | null) {
    this.#plans = plans;
  }

  /** Whether each attempt is expected to fail. */
  get areVain(): boolean {
    return this.#compiled === null;
  }

  /** The compiled operation; `null` if it cannot be compiled and is executed normally. */
  prepare(query: ReadQuery): CompiledOperation | null {
    if (this.#compiled === undefined) {
      try {
        this.#compiled = new CompiledOperation(query, this.#plans);
      } catch {
        this.#compiled = null;
      }
    }
    return this.#compiled;
  }

  /**
   * The operation for one more attempt; `null` if it is expected to fail. Call `succeeded` unless the attempt
   * fails.
   */
  next(query: ReadQuery): CompiledOperation | null {
    const isLeftOut = this.#misses >= MOST_MISSES && this.#misses % TRY_EVERY !== 0;
    this.#misses += 1;
    return isLeftOut ? null : this.prepare(query);
  }

  /** The last attempt has succeeded. */
  succeeded(): void {
    this.#misses = 0;
  }
}
