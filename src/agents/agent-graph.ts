import { type GraphQLFormattedError, type GraphQLSchema, OperationTypeNode } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { GatewayError } from '../errors.ts';
import type { OperationParser, ParsedOperation } from '../graphql/limits/parsed-operation.ts';
import type { AgentTerms, ServerContext } from '../graphql/request-record.ts';
import { bareId, byBareId } from '../graphql/requests/use-persisted-operations.ts';
import type { Admission } from '../http/door/admission.ts';
import { dryRunHeader } from '../http/door/caller.ts';
import { idempotencyKeyHeader } from '../http/door/headers/idempotency-key.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';
import type { OperationPlan } from '../upstream/dry-run/dry-run.ts';
import type { KeyedOutcome } from '../upstream/idempotency/idempotency-key.ts';
import type { ReceiptSummary } from '../upstream/receipt.ts';

/** One request of an agent to `/mcp`, as the door has admitted it. */
export interface AgentCall {
  readonly admission: Admission;
  /** The caller, in the class of agents. */
  readonly viewer: Viewer;
  readonly requestId: string;
  /** Aborts when the agent has hung up. */
  readonly signal: AbortSignal;
}

/** An operation as an agent sends it. */
interface SentOperation {
  /** A text, or the id of a listed operation. */
  readonly operation: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** A valid operation of an agent. */
export interface AgentOperation extends ParsedOperation {
  readonly text: string;
  /** As it is listed; `null` where operations are not listed. */
  readonly id: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The response of the graph. */
export interface GraphAnswer {
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly errors: readonly GraphQLFormattedError[];
  /** Absent if it was refused before its execution. */
  readonly upstream?: ReceiptSummary | undefined;
  /** The outcomes of fields with idempotency keys. */
  readonly outcomes: readonly { readonly outcome: KeyedOutcome; readonly firstAt: string }[];
  /** What upstreams said about the changes. */
  readonly messages: readonly unknown[];
}

/** The response to a dry run; `plan` is `null` if the operation was refused. */
export interface GraphPlan extends GraphAnswer {
  readonly plan: OperationPlan | null;
}

/** How an operation is executed. */
export interface ExecutionTerms extends Partial<AgentTerms> {
  /** How long it waits for slots at most; by default as long as every operation. */
  readonly waitSeconds?: number | undefined;
  /** The idempotency key of a mutation; `null` without. */
  readonly key?: string | null;
}

/** What the graph of agents is made of. */
export interface AgentGraphOptions {
  readonly schema: GraphQLSchema;
  readonly parser: Pick<OperationParser, 'parse'>;
  /** The only allowed operations, by id; `null` if all are. */
  readonly persistedOperations: ReadonlyMap<string, string> | null;
  /** Handles a request for an operation. */
  readonly fetch: (
    request: Request,
    context: Pick<ServerContext, 'admission' | 'agent' | 'requestId'>,
  ) => Promise<Response> | Response;
}

/** `data`, `errors` and `extensions` of a response. */
interface ResponseJson {
  readonly data?: GraphAnswer['data'];
  readonly errors?: readonly GraphQLFormattedError[];
  readonly extensions?: {
    readonly upstream?: ReceiptSummary;
    readonly plan?: OperationPlan;
    readonly idempotency?: GraphAnswer['outcomes'];
    readonly messages?: readonly unknown[];
  };
}

/** Its host only completes the URL: the door has admitted the request to `/mcp`. */
const ENDPOINT = 'http://localhost/graphql';

/** The graph as agents use it: each operation is a request for `/graphql`, with its limits, log line and costs. */
export class AgentGraph {
  /** The listed operations by bare id; `null` if all operations are allowed. */
  readonly listed: ReadonlyMap<string, string> | null;
  readonly #options: AgentGraphOptions;

  constructor(options: AgentGraphOptions) {
    const { persistedOperations } = options;
    this.#options = options;
    this.listed = persistedOperations && byBareId(persistedOperations);
  }

  get schema(): GraphQLSchema {
    return this.#options.schema;
  }

  /**
   * Parses and validates an operation. No upstream request.
   * @throws GatewayError `FORBIDDEN` for one that is not listed, where operations are.
   * @throws BadUserInput `BAD_USER_INPUT` for an invalid one.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for one that exceeds a limit.
   */
  parse({ operation, variables }: SentOperation): AgentOperation {
    const { listed } = this;
    const id = listed && bareId(operation);
    const text = id === null ? operation : listed?.get(id);
    if (text === undefined) {
      throw new GatewayError(
        'FORBIDDEN',
        'This gateway accepts only listed operations. Send the id of a listed operation as "operation".',
      );
    }
    const parsed = this.#options.parser.parse(text, variables);
    return { ...parsed, text, id, variables };
  }

  /** Executes an operation. */
  async execute(
    call: AgentCall,
    operation: AgentOperation,
    terms: ExecutionTerms = {},
  ): Promise<GraphAnswer> {
    return answerOf(await this.#send(call, operation, terms));
  }

  /** What an operation would cost, and the errors of its input. No upstream request. */
  async plan(
    call: AgentCall,
    operation: AgentOperation,
    terms: ExecutionTerms = {},
  ): Promise<GraphPlan> {
    const json = await this.#send(call, operation, terms, { [dryRunHeader]: 'true' });
    return { ...answerOf(json), plan: json.extensions?.plan ?? null };
  }

  /** Executes an operation of the gateway itself, which needs not be listed. */
  async executeOwn(
    call: AgentCall,
    { operation, variables }: SentOperation,
    terms: ExecutionTerms = {},
  ): Promise<GraphAnswer> {
    const own = { id: null, text: operation, variables };
    return answerOf(await this.#send(call, own, { ...terms, isOwn: true }));
  }

  async #send(
    { admission, requestId, signal, viewer }: AgentCall,
    { id, text, variables }: Pick<AgentOperation, 'id' | 'text' | 'variables'>,
    {
      isOwn = false,
      isRehearsal = false,
      key = null,
      maxCalls = null,
      waitSeconds,
    }: ExecutionTerms,
    more: Readonly<Record<string, string>> = {},
  ): Promise<ResponseJson> {
    // A call can have several, each as long as a request of its own.
    await loopTurns.turn(viewer.name);
    const request = new Request(ENDPOINT, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'x-request-id': requestId,
        ...(waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` }),
        // As a string of a structured header, in which these two characters are escaped.
        ...(key === null ? {} : { [idempotencyKeyHeader]: `"${key.replace(/["\\]/g, '\\$&')}"` }),
        ...more,
      },
      body: JSON.stringify({ ...(id === null ? { query: text } : { documentId: id }), variables }),
      signal,
    });
    const response = await this.#options.fetch(request, {
      admission,
      requestId,
      agent: { isOwn, isRehearsal, maxCalls },
    });
    return (await response.json()) as ResponseJson;
  }
}

function answerOf({ data = null, errors = [], extensions = {} }: ResponseJson): GraphAnswer {
  const { idempotency: outcomes = [], messages = [], upstream } = extensions;
  const shown = errors.map(withoutLocations);
  return { data, errors: shown, outcomes, messages, upstream };
}

/** Agents count no lines of their texts. */
function withoutLocations(error: GraphQLFormattedError): GraphQLFormattedError {
  const { locations: _, ...rest } = error;
  return rest;
}

/** Whether an operation is a query, which changes nothing. */
export function isQuery({ operation }: Pick<AgentOperation, 'operation'>): boolean {
  return operation.operation === OperationTypeNode.QUERY;
}
