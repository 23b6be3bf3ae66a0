import type { GraphQLSchema } from 'graphql';
import type { Clock } from '../scheduling/clock.ts';
import { exportDocument } from './exports/export-document.ts';
import { lineWriter } from './exports/export-lines.ts';
import { ExportRun } from './exports/export-run.ts';
import { Identities } from './exports/identities.ts';
import type { JobRecord } from './job.ts';
import type { JobOperations } from './job-operations.ts';
import type { JobWork } from './job-step.ts';
import type { JobFiles } from './storage/job-files.ts';

/**
 * The steps of a job from its last checkpoint on: what was written after it is cut off. No upstream request.
 * @throws GatewayError `BAD_USER_INPUT` if its operation is not valid any more, such as after an upgrade;
 * JobStorageFailed
 */
export async function workOf(of: {
  readonly clock: Clock;
  readonly files: JobFiles<JobRecord>;
  readonly operations: JobOperations;
  readonly record: JobRecord;
  readonly schema: GraphQLSchema;
}): Promise<JobWork> {
  const { clock, files, operations, record, schema } = of;
  const { format, startedAt, text, variables } = record;
  const parsed = operations.parse(text, variables);
  const identities = await files.resume();
  // Responses since its start serve it: what it has read before a restart is not read again.
  const acceptsFrom = clock.now() - (clock.wall() - (startedAt ?? clock.wall()));
  const known = new Identities();
  for await (const identity of identities) known.add(identity);
  const document = exportDocument(schema, parsed.document, parsed.operation);
  const writer = lineWriter(format, document, schema);
  return new ExportRun({ record, document, operations, writer, known, acceptsFrom });
}
