import type { GraphQLSchema, OperationDefinitionNode } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { BadUserInput, GatewayError, type UpstreamName } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { exportDocument } from './exports/export-document.ts';
import type { ExportFormat } from './exports/export-lines.ts';
import { MOST_CALLS, upstreamOf, variablesOf } from './exports/export-run.ts';
import type { JobRecord } from './job.ts';
import type { JobOperations } from './job-operations.ts';
import { errorOf } from './retries.ts';

/** An export to start. */
export interface ExportInput {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly format: ExportFormat;
  /** Maximum number of upstream requests per minute; `null` for all that are left. */
  readonly maxPerMinute: number | null;
  /** In milliseconds since 1970; `null` for immediately. */
  readonly startAt: number | null;
  /** The idempotency key and what it stands for; `null` without one. */
  readonly key: JobRecord['key'];
  /** Whether nothing is started: the input is only checked. */
  readonly isDryRun: boolean;
}

/** What a job does, as its record has it. */
type CheckedExport = Pick<JobRecord, 'format' | 'isCheap' | 'name' | 'text' | 'variables'> & {
  readonly upstream: UpstreamName;
};

interface StartWorld {
  readonly clock: Clock;
  readonly operations: JobOperations;
  readonly schema: GraphQLSchema;
}

/**
 * Checks an export. No upstream request.
 * @throws GatewayError `BAD_USER_INPUT` for a query that cannot be exported or values of a wrong type, `FORBIDDEN` for one that the viewer may not
 * execute, and the other codes of a dry run.
 */
export async function checkedExport(
  { clock, operations, schema }: StartWorld,
  viewer: Viewer,
  { format, maxPerMinute, query, variables: sent }: ExportInput,
): Promise<CheckedExport> {
  const parsed = operations.parse(query, sent);
  const variables = declaredOf(parsed.operation, sent);
  const document = exportDocument(schema, parsed);
  const { errors, plan } = await operations.execute(document, {
    viewer,
    requestId: 'job',
    variables: { ...variables, ...variablesOf(document.mostRows, null) },
    bulk: { acceptsFrom: clock.now() },
    signal: new AbortController().signal,
    isDryRun: true,
  });
  if (errors.length > 0 || !plan) {
    const { code, message } = errorOf(errors);
    throw code === 'BAD_USER_INPUT' ? new BadUserInput(message) : new GatewayError(code, message);
  }
  const reads = plan.calls + plan.saved.cache + plan.saved.coalesced;
  if (reads === 0) {
    throw new BadUserInput(
      `"${document.list}" reads nothing from the APIs, so there is nothing to export. Query it directly.`,
    );
  }
  // A limit of its own is kept exactly, by dry runs.
  const isCheap = maxPerMinute === null && reads <= MOST_CALLS;
  const upstream = upstreamOf(plan, 'LINKS');
  return { format, text: query, variables, name: document.list, isCheap, upstream };
}

/** The variables that an operation declares: a record is in memory for as long as its job is kept. */
function declaredOf(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const names = new Set(variableDefinitions.map(({ variable }) => variable.name.value));
  return Object.fromEntries(Object.entries(variables).filter(([name]) => names.has(name)));
}
