import type { DocumentNode, GraphQLFormattedError, OperationDefinitionNode } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import type { UpstreamName } from '../errors.ts';
import type { OperationPlan } from '../upstream/dry-run/dry-run.ts';
import type { BulkTerms } from '../upstream/operation.ts';
import type { Receipt } from '../upstream/receipt.ts';

/** A valid operation, the only one of its document. */
export interface JobOperation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** How a job executes an operation once. */
export interface JobTerms {
  readonly viewer: Viewer;
  /** The id by which its upstream requests are logged: that of the job. */
  readonly requestId: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly bulk: BulkTerms;
  readonly signal: AbortSignal;
  /** Whether it is only priced: no upstream request. */
  readonly isDryRun?: boolean;
}

/** The result of an operation of a job. */
export interface JobResult {
  readonly data: Readonly<Record<string, unknown>> | null;
  /** As callers see them, with `extensions.code`. */
  readonly errors: readonly GraphQLFormattedError[];
  /** What it has cost, and the cache entries that it has used. */
  readonly receipt: Receipt;
  /** Of a dry run: what it would cost. `null` if it was refused. */
  readonly plan: OperationPlan | null;
}

/** Executes the operations of jobs on the graph, with slots that are left. */
export interface JobOperations {
  /**
   * Parses and validates a text. No upstream request.
   * @throws GatewayError `BAD_USER_INPUT`, `OPERATION_TOO_EXPENSIVE` or `FORBIDDEN`.
   */
  parse(text: string, variables: Readonly<Record<string, unknown>>): JobOperation;
  /** Executes an operation; it waits for slots without limit. Never rejects. */
  execute(operation: JobOperation, terms: JobTerms): Promise<JobResult>;
  /**
   * Milliseconds until this number of further requests of jobs of a class have responses, if no caller needs slots
   * meanwhile.
   */
  forecastMs(upstream: UpstreamName, calls: number, callerClass?: string): number;
}
