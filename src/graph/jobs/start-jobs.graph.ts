import type { GraphQLResolveInfo } from 'graphql';
import { BadUserInput, InvalidInput } from '../../errors.ts';
import type { ExportFormat } from '../../jobs/exports/export-lines.ts';
import type { JobRecord } from '../../jobs/job.ts';
import type { StartedJob } from '../../jobs/jobs.ts';
import { builder, type UploadedFile } from '../builder.ts';
import { fault, InputChecks } from '../checks.ts';
import type { GraphContext } from '../context.ts';
import { parseId } from '../ids/global-id.ts';
import { nameOfKey } from '../keyed/keyed-fields.ts';
import { resultOf } from '../result.ts';
import { JobRef } from './job.graph.ts';

const JobFormatRef = builder.enumType('JobFormat', {
  description: 'The format of the output of an export.',
  values: {
    JSONL: {
      description:
        'A JSON object in each line, one for each item. The items of lists within an item follow it, with `__parentId`, the `id` of the object that has the list, and `__field`, the name of the list.',
    },
    CSV: {
      description:
        'A table as in RFC 4180, with a header, for queries without lists within items. Texts that a spreadsheet would take for formulas begin with an apostrophe.',
    },
  } satisfies Record<ExportFormat, { description: string }>,
});

const StartExportInput = builder.inputType('StartExportInput', {
  description: 'What is exported, and how.',
  fields: (t) => ({
    query: t.string({
      required: true,
      description:
        'A query with one list at its root, such as `{ channels { nodes { name } } }`. Lists without `first` or `last` are read to their end, also within items.',
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

const JobOnErrorRef = builder.enumType('JobOnError', {
  description: 'What happens after a line that failed.',
  values: {
    CONTINUE: { description: 'The next line is executed.' },
    STOP: { description: 'The job fails.' },
  },
});

const StartChangesInput = builder.inputType('StartChangesInput', {
  description: 'A bulk change.',
  fields: (t) => ({
    mutation: t.string({
      required: true,
      description: 'A mutation with variables. It is executed once for each line of the file.',
    }),
    file: t.field({
      type: 'Upload',
      required: true,
      description: 'JSON Lines: in each line the variables of one execution, as a JSON object.',
    }),
    onError: t.field({
      type: JobOnErrorRef,
      required: true,
      defaultValue: 'CONTINUE',
      description: 'What happens after a line that failed.',
    }),
    checkOnly: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Whether the lines are only checked. The output then has the invalid lines, `callsLeft` the cost.',
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
    resolve: async (_root, { input }, context, info) => {
      const { clock, jobs, viewer } = context;
      const checks = new InputChecks('input');
      if (input.maxPerMinute != null) checks.positive('maxPerMinute', input.maxPerMinute);
      checks.future('startAt', input.startAt, clock.wall());
      checks.done();
      const terms = await termsOf(context, info, input);
      return startedJob(context, info, { checks, member: 'query' }, () =>
        jobs.startExport(viewer, {
          ...terms,
          query: input.query,
          variables: input.variables ?? {},
          format: input.format,
        }),
      );
    },
  }),
  startChanges: t.field({
    ...resultOf(JobRef, 'StartChangesResult', [InvalidInput]),
    description:
      'Starts a bulk change: a mutation, once for each line of a file of variables. All lines are checked before the first one is executed, and each is executed once, also if the gateway restarts meanwhile. The output has a line for each, in their order. Costs no upstream request by itself.',
    args: {
      input: t.arg({
        type: StartChangesInput,
        required: true,
        description: 'The mutation and its lines.',
      }),
    },
    resolve: async (_root, { input }, context, info) => {
      const { clock, jobs, uploadInlineMaxBytes, viewer } = context;
      const { file } = input;
      const checks = new InputChecks('input');
      if (input.maxPerMinute != null) checks.positive('maxPerMinute', input.maxPerMinute);
      checks.future('startAt', input.startAt, clock.wall());
      if (file.size === 0) checks.issue('file', fault('EMPTY', 'is empty.'));
      if (file.size > uploadInlineMaxBytes) {
        const message = `must not be larger than ${uploadInlineMaxBytes} bytes.`;
        checks.issue('file', fault('TOO_LARGE', message, { maxBytes: uploadInlineMaxBytes }));
      }
      checks.done();
      const terms = await termsOf(context, info, input);
      return startedJob(context, info, { checks, member: 'mutation' }, () =>
        jobs.startChanges(viewer, {
          ...terms,
          mutation: input.mutation,
          file: { chunks: piecesOf(file), maxBytes: uploadInlineMaxBytes },
          onError: input.onError,
          checkOnly: input.checkOnly,
        }),
      );
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

/** What both kinds of jobs have in common. */
async function termsOf(
  { dryRun, keyed, links, viewer }: GraphContext,
  { fieldName, path }: GraphQLResolveInfo,
  input: {
    readonly maxPerMinute?: number | null | undefined;
    readonly startAt?: string | null | undefined;
  },
) {
  const key = keyed?.keyOf(String(path.key));
  const fingerprint = key && (await links.fingerprints.of(fieldName, input, viewer.name));
  return {
    maxPerMinute: input.maxPerMinute ?? null,
    startAt: input.startAt ? Date.parse(input.startAt) : null,
    key: key && fingerprint ? { name: nameOfKey(key), fingerprint: fingerprint.digest } : null,
    isDryRun: dryRun !== undefined,
  };
}

/** Bytes of a file in memory that are written at a time. */
const PIECE_BYTES = 256 * 1024;

async function* piecesOf(file: UploadedFile): AsyncGenerator<Uint8Array, void> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Ends, pauses or continues a job; a dry run changes nothing. */
function turnedJob(
  { dryRun, jobs, viewer }: GraphContext,
  globalId: string,
  to: 'CANCELED' | 'PAUSED' | 'QUEUED',
): Promise<JobRecord> {
  const id = String(parseId('Job', globalId));
  return dryRun ? jobs.get(viewer, id) : jobs.turn(viewer, id, to);
}

/** Starts a job; a text that cannot be executed is an issue of `member`. */
async function startedJob(
  { dryRun, keyed, receipt }: GraphContext,
  { path }: GraphQLResolveInfo,
  { checks, member }: { readonly checks: InputChecks; readonly member: string },
  start: () => Promise<StartedJob>,
): Promise<JobRecord> {
  receipt.changesWithTime();
  const field = String(path.key);
  try {
    const { isReplay, record } = await start();
    if (keyed?.keyOf(field) && !dryRun) {
      const outcome = isReplay ? 'REPLAYED' : 'EXECUTED';
      const firstAt = new Date(record.createdAt).toISOString();
      keyed.add(field, { outcome, firstAt, upstreamCalls: 0 });
    }
    return record;
  } catch (error) {
    if (!(error instanceof BadUserInput)) throw error;
    checks.issue(member, fault('INVALID_OPERATION', error.message));
    checks.done();
    throw error;
  }
}
