import { isFinal, type JobError, type JobProgress, type JobRecord } from '../../jobs/job.ts';
import { takeSteps } from '../../scheduling/at-once.ts';
import { windowOfRows } from '../../upstream/lists/window.ts';
import { builder, connectionOf } from '../builder.ts';
import type { GraphContext } from '../context.ts';
import { enumOf, shown } from '../fields.ts';
import { parseId } from '../ids/global-id.ts';
import { Connection } from '../rows/connection.ts';

const JobStateRef = enumOf('JobState', 'How far a job is, or how it has ended.', {
  QUEUED: 'It has not started: its time has not come.',
  RUNNING: 'It is executed, also while it waits for slots of the rate limit.',
  PAUSED: 'It does nothing until it is resumed: its caller has paused it, or `error` says why.',
  DONE: 'It is complete.',
  FAILED: 'It ended before it was complete; `error` says why. Its output is kept.',
  CANCELED: 'It was canceled. Its output is kept.',
  EXPIRED: 'It ended long ago, and its output was deleted.',
});

const JobErrorRef = builder.objectRef<JobError>('JobError').implement({
  description: 'Why a job has failed or is paused.',
  fields: (t) =>
    shown(t, 'String!', {
      code: 'What is wrong, as a code: those of errors, and `JOB_STORAGE_FULL`.',
      message: 'What is wrong, as a sentence.',
    }),
});

const JobSpanRef = builder
  .objectRef<{ readonly oldest: number; readonly newest: number }>('JobSpan')
  .implement({
    description: 'When the data in the output of a job was requested from the APIs.',
    fields: (t) => ({
      oldest: t.field({
        type: 'DateTime',
        nullable: false,
        description: 'The time of the oldest data.',
        resolve: ({ oldest }) => momentOf(oldest),
      }),
      newest: t.field({
        type: 'DateTime',
        nullable: false,
        description: 'The time of the newest data.',
        resolve: ({ newest }) => momentOf(newest),
      }),
    }),
  });

/** The type of `Query.job`. */
export const JobRef = builder.objectRef<JobRecord>('Job');

builder.node(JobRef, {
  description:
    'An export of a list, into a file. It runs in the background, from slots of the rate limit that are left, and continues after a restart.',
  id: { resolve: ({ id }) => id, parse: (id) => Number(id) },
  loadWithoutCache: async (id, context) => readJob(String(id), context),
  fields: (t) => ({
    state: t.field({
      type: JobStateRef,
      nullable: false,
      description: 'How far it is, or how it has ended.',
      resolve: ({ state }) => state,
    }),
    ...shown(t, 'String!', { name: 'The list that it reads, such as `channels`.' }),
    createdAt: t.field({
      type: 'DateTime',
      nullable: false,
      description: 'When it was created.',
      resolve: ({ createdAt }) => momentOf(createdAt),
    }),
    createdBy: t.string({
      description: 'The name of the caller that has started it; null for a caller without a name.',
      resolve: ({ owner }) => (owner.isAnonymous ? null : owner.name),
    }),
    startAt: t.field({
      type: 'DateTime',
      nullable: false,
      description: 'The earliest time at which it starts.',
      resolve: ({ startAt }) => momentOf(startAt),
    }),
    endedAt: t.field({
      type: 'DateTime',
      description: 'When it has ended; null before.',
      resolve: ({ endedAt }) => (endedAt === null ? null : momentOf(endedAt)),
    }),
    readyAt: t.field({
      type: 'DateTime',
      description:
        'When it will probably be complete, if no other caller needs slots; null while that is unknown, and if it has ended or is paused.',
      resolve: (record, _args, { jobs }) => {
        const readyAt = jobs.readyAt(record);
        return readyAt === null ? null : momentOf(readyAt);
      },
    }),
    rowsDone: t.int({
      nullable: false,
      description: 'Number of items of the list that are complete.',
      resolve: ({ progress }) => progress.rowsDone,
    }),
    rowsTotal: t.int({
      description: 'Number of all of them; null while it is unknown.',
      resolve: ({ progress }) => progress.rowsTotal,
    }),
    failures: t.int({
      nullable: false,
      description: 'Number of items with errors.',
      resolve: ({ progress }) => progress.failures,
    }),
    callsSpent: t.int({
      nullable: false,
      description: 'Number of upstream requests that it has sent.',
      resolve: ({ progress }) => progress.calls,
    }),
    callsLeft: t.int({
      description:
        'Estimated number of further upstream requests; null while it is unknown, and if it has ended.',
      resolve: ({ progress, state }) => (isFinal(state) ? null : progress.callsLeft),
    }),
    asOf: t.field({
      type: JobSpanRef,
      description: 'When the data in its output was requested; null before the first data.',
      resolve: ({ progress }) => spanOf(progress),
    }),
    url: t.string({
      description:
        'The path of its output on this server, which is a file of complete lines at each time. Null if it was deleted.',
      resolve: ({ id, state }) => (state === 'EXPIRED' ? null : `/jobs/${id}/data`),
    }),
    bytes: t.float({
      nullable: false,
      description: 'Size of its output.',
      resolve: ({ id }, _args, { jobs, viewer }) => jobs.find(viewer, id)?.outputBytes ?? 0,
    }),
    error: t.expose('error', {
      type: JobErrorRef,
      description: 'Why it has failed or is paused; null otherwise.',
    }),
  }),
});

builder.queryField('job', (t) =>
  t.field({
    type: JobRef,
    nullable: true,
    description:
      'Looks up a job; null if it does not exist or belongs to another caller. With `@live`, its progress is delivered as it changes. Costs no upstream request.',
    args: {
      id: t.arg.id({ required: true, description: 'The `id` of a job that the caller may see.' }),
    },
    resolve: (_root, { id }, context) => readJob(String(parseId('Job', id)), context),
  }),
);

builder.queryField('jobs', (t) =>
  t.connection(
    {
      type: JobRef,
      nullable: false,
      description:
        'The jobs of this caller, the latest first; administrators see all. Costs no upstream request.',
      args: {
        state: t.arg({ type: JobStateRef, description: 'Only jobs in this state.' }),
      },
      resolve: async (_root, { state, ...window }, { jobs, receipt, viewer, watcher }) => {
        receipt.changesWithTime();
        const list = () => jobs.list(viewer, state ?? null);
        watcher?.look(`jobs ${state ?? ''}`, () => list().map(stateText).join(' '));
        const rows = list().map((job, id) => ({ id, job }));
        const name = `jobs${state ?? ''}`.toLowerCase();
        const identities = (some: readonly (typeof rows)[number][]) =>
          some.map(({ job }) => job.id);
        const { rows: edges, ...found } = await takeSteps(
          windowOfRows(rows, { name, identities }, window),
        );
        const ofJobs = edges.map(({ cursor, node }) => ({ cursor, node: node.job }));
        return new Connection({ ...found, rows: ofJobs });
      },
    },
    ...connectionOf('Job', 'jobs'),
  ),
);

/** A job that the viewer may see. */
function readJob(id: string, { jobs, receipt, viewer, watcher }: GraphContext): JobRecord | null {
  receipt.changesWithTime();
  const read = () => jobs.find(viewer, id)?.record ?? null;
  watcher?.look(`job ${id}`, () => stateText(read()));
  return read();
}

/** A text that changes with a job. */
function stateText(record: JobRecord | null): string {
  if (!record) return '';
  const { calls, rowsDone } = record.progress;
  return [record.id, record.state, calls, rowsDone].join();
}

function spanOf({ newest, oldest }: JobProgress) {
  return oldest === null || newest === null ? null : { newest, oldest };
}

function momentOf(ms: number): string {
  return new Date(ms).toISOString();
}
