import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql';
import { checkVariables, type InputPlan, planInput } from './input.ts';
import { type AskedFor, countRows } from './rows.ts';
import { tooExpensive } from './text.ts';

/** Ids that all `nodes` of an operation may have: finding one costs several times what a row of a list does. */
const MAX_IDS = 5000;

/** What is found out once of a document that is remembered. */
interface DocumentPlan {
  readonly input: InputPlan;
  /** The most that an operation can ask for, whatever its variables are. */
  readonly most: Map<OperationDefinitionNode, AskedFor>;
}

/** An operation of a valid document. */
interface ValidOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** The limits that depend on variables: the size of each input, and the rows that are asked for. */
export class InputLimits {
  readonly #maxNodes: number;
  readonly #plans = new WeakMap<DocumentNode, DocumentPlan>();

  /** `maxNodes` rows may be asked for, multiplied down the selection. */
  constructor(maxNodes: number) {
    this.#maxNodes = maxNodes;
  }

  /**
   * Checks an operation with the variables of a request, as they came.
   * @throws BadUserInput `BAD_USER_INPUT` for input that is out of proportion.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for too many rows or ids.
   */
  check(
    { schema, document, operation }: ValidOperation,
    variables: Readonly<Record<string, unknown>>,
  ): void {
    const plan = this.#plans.get(document) ?? this.learn(document, planInput(schema, document));
    if (plan.input.fault) throw plan.input.fault;
    checkVariables(schema, operation, variables, plan.input);
    const most = plan.most.get(operation) ?? countRows(schema, document, operation, null);
    plan.most.set(operation, most);
    if (most.rows <= this.#maxNodes && most.ids <= MAX_IDS) return;
    checkRows(countRows(schema, document, operation, variables), this.#maxNodes);
  }

  /** Takes what was found out of a document on another walk. */
  learn(document: DocumentNode, input: InputPlan): DocumentPlan {
    const plan: DocumentPlan = { input, most: new Map() };
    this.#plans.set(document, plan);
    return plan;
  }
}

function checkRows({ rows, ids }: AskedFor, maxNodes: number): void {
  if (rows > maxNodes) {
    throw tooExpensive(
      `The operation asks for ${rows} rows, multiplied down the selection, and at most ${maxNodes} are allowed. Ask for fewer with "first", "last" or "ids", or in several operations.`,
    );
  }
  if (ids > MAX_IDS) {
    throw tooExpensive(
      `The operation looks for ${ids} ids, and at most ${MAX_IDS} are allowed. Look for them in several operations.`,
    );
  }
}
