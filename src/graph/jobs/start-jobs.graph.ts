import { BadUserInput, InvalidInput } from '../../errors.ts';
import type { ExportFormat } from '../../jobs/exports/export-lines.ts';
import type { JobRecord } from '../../jobs/job.ts';
import { builder } from '../builder.ts';
import { fault, InputChecks } from '../checks.ts';
import type { GraphContext } from '../context.ts';
import { enumOf } from '../fields.ts';
import { parseId } from '../ids/global-id.ts';
import { nameOfKey } from '../keyed/keyed-fields.ts';
import { resultOf } from '../result.ts';
import { JobRef } from './job.graph.ts';

const JobFormatRef = enumOf<ExportFormat>('JobFormat', 'The format of the output of an export.', {
  JSONL: 'A JSON object in each line, one for each item.',
  CSV: 'A table as in RFC 4180, with a header; a list within an item is a text of JSON. Texts that a spreadsheet would take for formulas begin with an apostrophe.',
});

const StartExportInput = builder.inputType('StartExportInput', {
  description: 'What is exported, and how.',
  fields: (t) => ({
    query: t.string({
      required: true,
      description:
        'A query with one list at its root, such as `{ channels { nodes { name } } }`. It is read to its end; lists within items need `first` or `last`.',
    }),
    variables: t.field({ type: 'JSONObject', description: 'The variables of the query.' }),
    format: t.field({
      type: JobFormatRef,
      required: true,
      defaultValue: 'JSONL',
      description: 'The format of the output.',
    }),
    maxPerMinute: t.int({
      description: 'Maximum number of upstream requests per minute; by default all that are left.',
    }),
    startAt: t.field({
      type: 'DateTime',
      description: 'The earliest time at which it starts; by default now.',
    }),
  }),
});

builder.mutationFields((t) => ({
  startExport: t.field({
    ...resultOf(JobRef, 'StartExportResult', [InvalidInput]),
    description:
      'Starts an export of a list, into a file that is downloaded from `Job.url`. It uses slots of the rate limit that others leave. Costs no upstream request by itself.',
    args: {
      input: t.arg({
        type: StartExportInput,
        required: true,
        description: 'The query and the format.',
      }),
    },
    resolve: async (_root, { input }, context, { fieldName, path }) => {
      const { clock, dryRun, jobs, keyed, links, receipt, viewer } = context;
      const checks = new InputChecks('input');
      if (input.maxPerMinute != null) checks.positive('maxPerMinute', input.maxPerMinute);
      checks.future('startAt', input.startAt, clock.wall());
      checks.done();
      const field = String(path.key);
      const key = keyed?.keyOf(field);
      const fingerprint = key && (await links.fingerprints.of(fieldName, input, viewer.name));
      receipt.changesWithTime();
      try {
        const { isReplay, record } = await jobs.startExport(viewer, {
          query: input.query,
          variables: input.variables ?? {},
          format: input.format,
          maxPerMinute: input.maxPerMinute ?? null,
          startAt: input.startAt ? Date.parse(input.startAt) : null,
          key:
            key && fingerprint ? { name: nameOfKey(key), fingerprint: fingerprint.digest } : null,
          isDryRun: dryRun !== undefined,
        });
        if (key && !dryRun) {
          const outcome = isReplay ? 'REPLAYED' : 'EXECUTED';
          const firstAt = new Date(record.createdAt).toISOString();
          keyed?.add(field, { outcome, firstAt, upstreamCalls: 0 });
        }
        return record;
      } catch (error) {
        if (!(error instanceof BadUserInput)) throw error;
        checks.issue('query', fault('INVALID_OPERATION', error.message));
        checks.done();
        throw error;
      }
    },
  }),
  cancelJob: t.field({
    type: JobRef,
    nullable: true,
    semanticNonNull: true,
    description:
      'Ends a job that has not ended. A request under way is completed. Costs no upstream request.',
    args: {
      id: t.arg.id({ required: true, description: 'The `id` of a job that has not ended.' }),
    },
    resolve: (_root, { id }, context) => turnedJob(context, id, 'CANCELED'),
  }),
  pauseJob: t.field({
    type: JobRef,
    nullable: true,
    semanticNonNull: true,
    description: 'Pauses a job until it is resumed. Costs no upstream request.',
    args: {
      id: t.arg.id({ required: true, description: 'The `id` of a job that has not ended.' }),
    },
    resolve: (_root, { id }, context) => turnedJob(context, id, 'PAUSED'),
  }),
  resumeJob: t.field({
    type: JobRef,
    nullable: true,
    semanticNonNull: true,
    description:
      'Continues a job that is paused or has failed, where it has ended. Costs no upstream request by itself.',
    args: {
      id: t.arg.id({
        required: true,
        description: 'The `id` of a job that is paused or has failed.',
      }),
    },
    resolve: (_root, { id }, context) => turnedJob(context, id, 'QUEUED'),
  }),
}));

/** Ends, pauses or continues a job; a dry run changes nothing. */
async function turnedJob(
  { dryRun, jobs, viewer }: GraphContext,
  globalId: string,
  to: 'CANCELED' | 'PAUSED' | 'QUEUED',
): Promise<JobRecord> {
  const id = String(parseId('Job', globalId));
  return dryRun ? jobs.get(viewer, id).record : jobs.turn(viewer, id, to);
}
