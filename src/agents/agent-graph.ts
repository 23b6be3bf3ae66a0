import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { GatewayError } from '../errors.ts';
import type { OperationOutcome, Operations } from '../graphql/operations.ts';
import { bareId, byBareId } from '../graphql/requests/use-persisted-operations.ts';
import type { JobOperation } from '../jobs/job-operations.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';

/** One request of an agent to `/mcp`, as the door has admitted it. */
export interface AgentCall {
  /** The caller, in the class of agents. */
  readonly viewer: Viewer;
  readonly requestId: string;
  /** Aborts when the agent has hung up. */
  readonly signal: AbortSignal;
}

/** An operation as an agent sends it. */
interface SentText {
  /** A text, or the id of a listed operation. */
  readonly operation: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** A valid operation of an agent. */
export interface AgentOperation extends JobOperation {
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** How an operation is executed. */
interface ExecutionTerms {
  /** Whether it is only priced. */
  readonly isDryRun?: boolean;
  /** Whether it is only priced before its execution, which is observed instead. */
  readonly isRehearsal?: boolean;
  /** Maximum number of upstream requests to each API; by default as many as every operation. */
  readonly maxCalls?: number;
  /** How long it waits for slots at most; by default as long as every operation. */
  readonly waitSeconds?: number;
  /** The idempotency key of a mutation; `null` without. */
  readonly key?: string | null;
}

/** What the graph of agents is made of. */
export interface AgentGraphOptions {
  readonly schema: GraphQLSchema;
  readonly operations: Pick<Operations, 'execute' | 'parse'>;
  /** The only allowed operations, by id; `null` if all are. */
  readonly persistedOperations: ReadonlyMap<string, string> | null;
}

/** The graph as agents use it: each operation has its limits, log line and costs. */
export class AgentGraph {
  /** The listed operations by bare id; `null` if all operations are allowed. */
  readonly listed: ReadonlyMap<string, string> | null;
  readonly schema: GraphQLSchema;
  readonly #operations: AgentGraphOptions['operations'];

  constructor({ operations, persistedOperations, schema }: AgentGraphOptions) {
    this.schema = schema;
    this.#operations = operations;
    this.listed = persistedOperations && byBareId(persistedOperations);
  }

  /**
   * Parses and validates an operation. No upstream request.
   * @throws GatewayError `FORBIDDEN` for one that is not listed, where operations are.
   * @throws BadUserInput `BAD_USER_INPUT` for an invalid one.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for one that exceeds a limit.
   */
  parse({ operation, variables }: SentText): AgentOperation {
    const text = this.listed ? this.listed.get(bareId(operation)) : operation;
    if (text === undefined) {
      throw new GatewayError(
        'FORBIDDEN',
        'This gateway accepts only listed operations. Send the id of a listed operation as "operation".',
      );
    }
    return this.parseOwn({ operation: text, variables });
  }

  /** Parses an operation of the gateway itself, which needs not be listed. */
  parseOwn({ operation: text, variables }: SentText): AgentOperation {
    return { ...this.#operations.parse(text, variables), text, variables };
  }

  /** Executes an operation, or prices it. Never rejects. */
  async execute(
    { requestId, signal, viewer }: AgentCall,
    operation: AgentOperation,
    { isDryRun, isRehearsal = false, key = null, maxCalls, waitSeconds }: ExecutionTerms = {},
  ): Promise<OperationOutcome> {
    // A call can have several, each as long as a request of its own.
    await loopTurns.turn(viewer.name);
    return this.#operations.execute(operation, {
      viewer,
      requestId,
      signal,
      variables: operation.variables,
      isDryRun: isDryRun ?? isRehearsal,
      isObserved: !isRehearsal,
      maxCalls,
      prefer: waitSeconds === undefined ? null : `wait=${waitSeconds}`,
      // As a string of a structured header, in which these two characters are escaped.
      key: key === null ? null : `"${key.replace(/["\\]/g, '\\$&')}"`,
    });
  }
}
