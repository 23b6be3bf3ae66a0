import {
  execute,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
} from 'graphql';
import { BadUserInput, GatewayError } from '../errors.ts';
import type { GraphContext } from '../graph/context.ts';
import type {
  JobExecution,
  JobExecutionTerms,
  JobOperation,
  JobOperations,
  JobPlan,
} from '../jobs/job-operations.ts';
import { type Clock, momentOf } from '../scheduling/clock.ts';
import { OneAtATime } from '../scheduling/one-at-a-time.ts';
import { DryRun } from '../upstream/dry-run/dry-run.ts';
import type { ContextFactory } from './context.ts';
import { schemaOfDryRuns } from './fields-of-dry-run.ts';
import type { OperationParser } from './limits/parsed-operation.ts';
import { selectsSecret } from './limits/selects-secret.ts';
import { isOfRequest, type MaskError } from './mask-error.ts';

interface JobExecutorOptions extends Pick<JobOperations, 'forecastMs'> {
  readonly schema: GraphQLSchema;
  readonly contexts: Pick<ContextFactory, 'job'>;
  readonly parser: Pick<OperationParser, 'parse'>;
  /** The only allowed operations, by id; `null` if all are. */
  readonly persistedOperations: ReadonlyMap<string, string> | null;
  readonly maskError: MaskError;
  readonly clock: Clock;
}

/** Executes the operations of jobs on the schema, within the limits of all operations. */
export class JobExecutor implements JobOperations {
  readonly #options: JobExecutorOptions;
  readonly #listed: ReadonlySet<string> | null;
  readonly #dryRuns = new OneAtATime();
  #drySchema: GraphQLSchema | null = null;

  constructor(options: JobExecutorOptions) {
    const { persistedOperations } = options;
    this.#options = options;
    this.#listed = persistedOperations && new Set(persistedOperations.values());
  }

  parse(text: string, variables: Readonly<Record<string, unknown>>): JobOperation {
    const { parser, schema } = this.#options;
    if (this.#listed && !this.#listed.has(text)) {
      throw new GatewayError(
        'FORBIDDEN',
        'This gateway accepts only listed operations. Send the text of a listed operation.',
      );
    }
    const { document, operation } = parser.parse(text, variables);
    if (selectsSecret(schema, document, operation)) {
      throw new BadUserInput('A job cannot select a secret. Query it in an operation of its own.');
    }
    return { document, operation };
  }

  async execute(operation: JobOperation, terms: JobExecutionTerms): Promise<JobExecution> {
    const { contexts, schema } = this.#options;
    const context = contexts.job(terms.viewer, terms);
    const result = await this.#run(schema, operation, { ...terms, context });
    return { ...result, calls: context.receipt.summary.calls, ...this.#span(context) };
  }

  async plan(operation: JobOperation, terms: JobExecutionTerms): Promise<JobPlan> {
    const { contexts, schema } = this.#options;
    const dryRun = new DryRun();
    const context = contexts.job(terms.viewer, { ...terms, dryRun });
    const drySchema = (this.#drySchema ??= schemaOfDryRuns(schema));
    const { errors } = await this.#dryRuns.run(terms.viewer.name, () =>
      this.#run(drySchema, operation, { ...terms, context }),
    );
    await context.receipt.idle();
    return { plan: dryRun.plan, errors };
  }

  forecastMs(...asked: Parameters<JobOperations['forecastMs']>): number {
    return this.#options.forecastMs(...asked);
  }

  async #run(
    schema: GraphQLSchema,
    { document, operation }: JobOperation,
    { context, jobId, signal, variables }: JobExecutionTerms & { readonly context: GraphContext },
  ): Promise<Pick<JobExecution, 'data' | 'errors'>> {
    const { maskError } = this.#options;
    context.receipt.asker = { requestId: jobId, operation: operation.name?.value ?? null };
    try {
      const { data, errors = [] } = await execute({
        schema,
        document,
        variableValues: variables,
        contextValue: context,
      });
      // Nothing is wrong with what was aborted.
      if (signal.aborted) return { data: null, errors: [] };
      // A dry run ends parts that need responses, with errors that are not of the operation.
      const own = context.dryRun ? errors.filter(isOfRequest) : errors;
      return { data: data ?? null, errors: own.map((error) => shown(maskError(error))) };
    } catch (error) {
      return { data: null, errors: signal.aborted ? [] : [shown(maskError(error))] };
    }
  }

  /** When the data was requested. */
  #span({ receipt }: GraphContext): Pick<JobExecution, 'newest' | 'oldest'> {
    const { now, wall } = momentOf(this.#options.clock);
    const times = receipt.ingredients.served.map(({ stamp }) => wall - (now - stamp.storedAt));
    if (times.length === 0) return { oldest: null, newest: null };
    return { oldest: Math.min(...times), newest: Math.max(...times) };
  }
}

/** An error as callers see it: what is for HTTP stays here. */
function shown(error: GraphQLError): GraphQLFormattedError {
  const { extensions, locations: _, ...rest } = error.toJSON();
  const { http: __, ...visible } = extensions ?? {};
  return { ...rest, extensions: visible };
}
