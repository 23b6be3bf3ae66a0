import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getOperationAST,
  OperationTypeNode,
  specifiedRules,
  validate,
} from 'graphql';
import { BadUserInput, GatewayError } from '../errors.ts';
import type { GraphContext } from '../graph/context.ts';
import type { KeyedFields } from '../graph/keyed/keyed-fields.ts';
import type { JobOperation, JobResult, JobTerms } from '../jobs/job-operations.ts';
import { shownClass } from '../observe/callers.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Clock } from '../scheduling/clock.ts';
import { DryRun } from '../upstream/dry-run/dry-run.ts';
import type { Contexts, ContextTerms } from './context.ts';
import { withoutParts } from './delivery.ts';
import { type DryRuns, planned } from './dry-runs.ts';
import type { OperationTexts } from './limits/operation-texts.ts';
import { selectsSecret } from './limits/selects-secret.ts';
import type { MaskError } from './mask-error.ts';
import { idempotentFieldsRule, keysOfOperation } from './operation-keys.ts';
import {
  emitOperation,
  newObservation,
  noteResult,
  operationName,
} from './plugins/use-observation.ts';

/** How an operation is executed that does not come as a request of its own. */
export interface OperationTerms
  extends Omit<JobTerms, 'bulk'>,
    Pick<ContextTerms, 'bulk' | 'maxCalls' | 'prefer'> {
  /** The idempotency key of a mutation, as a header has it. */
  readonly key?: string | null;
  /** Whether it is in the log and in the metrics as an operation. */
  readonly isObserved?: boolean;
}

/** The result of an operation. */
export interface OperationOutcome extends JobResult {
  /** The idempotency keys of its fields; `null` if there are none. */
  readonly keyed: KeyedFields | null;
}

interface OperationsOptions {
  readonly schema: GraphQLSchema;
  readonly texts: OperationTexts;
  readonly contexts: Contexts;
  readonly dryRuns: DryRuns;
  readonly maskError: MaskError;
  readonly clock: Clock;
  readonly events: EventStream;
  /** The only allowed operations, by id; `null` if all are. */
  readonly persistedOperations: ReadonlyMap<string, string> | null;
}

/** Executes the operations of agents and jobs on the schema, within the limits of all operations. */
export class Operations {
  readonly #options: OperationsOptions;
  readonly #listed: ReadonlySet<string> | null;

  constructor(options: OperationsOptions) {
    const { persistedOperations } = options;
    this.#options = options;
    this.#listed = persistedOperations && new Set(persistedOperations.values());
  }

  /**
   * Parses and validates a text. No upstream request.
   * @throws BadUserInput `BAD_USER_INPUT` for a text that is invalid, or has not exactly one operation.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for one that exceeds a limit.
   */
  parse(text: string, variables: JobTerms['variables']): JobOperation {
    const { schema, texts } = this.#options;
    const document = this.#valid(text);
    const operation = getOperationAST(document);
    if (!operation) throw new BadUserInput('The text must have exactly one operation.');
    texts.check({ schema, document, operation }, variables);
    return { document, operation };
  }

  /**
   * The same for a job.
   * @throws GatewayError `FORBIDDEN` for a text that is not listed, where operations are.
   * @throws BadUserInput `BAD_USER_INPUT` also for one that selects a secret.
   */
  parseForJob(text: string, variables: JobTerms['variables']): JobOperation {
    if (this.#listed && !this.#listed.has(text)) {
      throw new GatewayError(
        'FORBIDDEN',
        'This gateway accepts only listed operations. Send the text of a listed operation.',
      );
    }
    const parsed = this.parse(text, variables);
    if (selectsSecret(this.#options.schema, parsed.document, parsed.operation)) {
      throw new BadUserInput('A job cannot select a secret. Query it in an operation of its own.');
    }
    return parsed;
  }

  #valid(text: string): DocumentNode {
    const { maskError, schema, texts } = this.#options;
    let document: DocumentNode;
    try {
      document = texts.parse(text);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      throw new BadUserInput(`The text cannot be parsed: ${error.message}`);
    }
    const rules = [...specifiedRules, idempotentFieldsRule];
    const [fault] = validate(schema, document, rules, { maxErrors: 1 });
    // As in a response: without similar names if the schema is not public.
    if (fault) throw new BadUserInput(`The text is invalid: ${withHint(maskError(fault).message)}`);
    return document;
  }

  /** Executes an operation, or prices it. Never rejects. */
  async execute(operation: JobOperation, terms: OperationTerms): Promise<OperationOutcome> {
    const { clock, contexts, events } = this.#options;
    const { isDryRun = false, isObserved = false, requestId, signal, viewer } = terms;
    const dryRun = isDryRun ? new DryRun() : null;
    const mode = dryRun ? ({ kind: 'planned', dryRun } as const) : undefined;
    const context = contexts(viewer, { ...terms, mode });
    const { receipt } = context;
    const name = operationName(operation.operation);
    const type = operation.operation.operation;
    receipt.asker = { requestId, operation: name, callerClass: shownClass(viewer.callerClass) };
    const running = isObserved ? newObservation(signal, clock) : null;
    const { within } = events;
    const run = () => this.#run(operation, terms, context);
    if (within && running) {
      const origin = { header: () => null, request: undefined };
      events.emit('operationBegan', { operation: receipt, type, origin });
    }
    const outcome = await (within && running ? within(receipt, run) : run());
    if (running) {
      Object.assign(running, { name, type, caller: viewer.name, receipt, status: 200 });
      noteResult(running, outcome);
      emitOperation({ clock, events }, running, { requestId, summary: null, viewer });
    }
    return outcome;
  }

  async #run(
    { document, operation }: JobOperation,
    { bulk, key = null, signal, variables, viewer }: OperationTerms,
    context: GraphContext,
  ): Promise<OperationOutcome> {
    const { dryRuns, maskError, schema, texts } = this.#options;
    const { dryRun, receipt } = context;
    const inTurn = bulk ? dryRuns.ofJobs : dryRuns.ofRequests;
    const refused = { data: null, plan: null, receipt, keyed: null };
    try {
      if (texts.withheld.has(document)) await context.market.admitted();
      const keyed = dryRun
        ? null
        : keysOfOperation({ schema, document, operation, variables }, key);
      const args = {
        document: withoutParts(document),
        variableValues: variables,
        contextValue: keyed ? { ...context, keyed } : context,
      };
      const executed = (of: GraphQLSchema) => execute({ ...args, schema: of });
      const result: ExecutionResult = dryRun
        ? await planned(await inTurn.run(viewer.name, () => executed(dryRuns.schemaOf(schema))), {
            dryRun,
            receipt,
          })
        : await executed(schema);
      const { data = null, errors = [] } = result;
      // Nothing is wrong with what was aborted.
      const shown = signal.aborted ? [] : errors.map((error) => shownError(maskError(error)));
      const plan = dryRun?.plan ?? null;
      return { data: signal.aborted ? null : data, errors: shown, plan, receipt, keyed };
    } catch (error) {
      return { ...refused, errors: signal.aborted ? [] : [shownError(maskError(error))] };
    }
  }
}

/** A masked error as callers of other doors than `/graphql` see it: without what is for HTTP, and without locations. */
export function shownError(error: GraphQLError): GraphQLFormattedError {
  const { extensions, locations: _, ...rest } = error.toJSON();
  const { http: __, ...visible } = extensions ?? {};
  return { ...rest, extensions: visible };
}

/** Whether an operation is a query, which changes nothing. */
export function isQuery({ operation }: Pick<JobOperation, 'operation'>): boolean {
  return operation.operation === OperationTypeNode.QUERY;
}

/** The message of a validation error, with where the fields of rows are. */
function withHint(message: string): string {
  const [, field] = /^Cannot query field "(\w+)" on type "\w+Connection"/.exec(message) ?? [];
  return field === undefined ? message : `${message} The rows are in "nodes { ${field} }".`;
}
