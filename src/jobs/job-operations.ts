import type { DocumentNode, GraphQLFormattedError, OperationDefinitionNode } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import type { UpstreamName } from '../errors.ts';
import type { OperationPlan } from '../upstream/dry-run/dry-run.ts';

/** A valid operation of a job. */
export interface JobOperation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** How a job executes an operation once. */
export interface JobExecutionTerms {
  readonly viewer: Viewer;
  readonly jobId: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Cached responses that were requested from this time on serve it, whatever their ttl; on `clock.now()`. */
  readonly acceptsFrom: number;
  readonly signal: AbortSignal;
}

/** The result of an operation of a job. */
export interface JobExecution {
  readonly data: Readonly<Record<string, unknown>> | null;
  /** As callers see them, with `extensions.code`. */
  readonly errors: readonly GraphQLFormattedError[];
  /** Number of upstream requests that were sent for it. */
  readonly calls: number;
  /** When the oldest and the newest data were requested, in milliseconds since 1970; `null` without data. */
  readonly oldest: number | null;
  readonly newest: number | null;
}

/** What a dry run of an operation of a job has found. */
export interface JobPlan {
  readonly plan: OperationPlan;
  readonly errors: JobExecution['errors'];
}

/** Executes the operations of jobs on the graph, with slots that are left. */
export interface JobOperations {
  /**
   * Parses and validates a text. No upstream request.
   * @throws GatewayError `BAD_USER_INPUT`, `OPERATION_TOO_EXPENSIVE` or `PERSISTED_QUERY_NOT_FOUND`.
   */
  parse(text: string, variables: Readonly<Record<string, unknown>>): JobOperation;
  /** Executes an operation; it waits for slots without limit. Never rejects. */
  execute(operation: JobOperation, terms: JobExecutionTerms): Promise<JobExecution>;
  /** What it would cost, and the errors of its input. No upstream request. */
  plan(operation: JobOperation, terms: JobExecutionTerms): Promise<JobPlan>;
  /**
   * Milliseconds until this number of further requests of jobs of a class have responses, if no caller needs slots
   * meanwhile.
   */
  forecastMs(upstream: UpstreamName, calls: number, callerClass?: string): number;
}
