import { scheduler } from 'node:timers/promises';
import { type Clock, systemClock } from '../../scheduling/clock.ts';
import { CommandError, exitCode } from '../faults.ts';
import { followJob } from './follow-job.ts';
import { GatewayClient, RefusedRequest, type RemoteJob } from './gateway-client.ts';
import { JobProgressLine, progressText } from './job-progress.ts';
import { type ExportOptions, exportOptions } from './options.ts';
import { FileOutput, type RowOutput, RowsOnStandardOutput } from './row-output.ts';
import { JobNote } from './started-job.ts';

/** The clock of the machine; its timers keep the process alive. */
const commandClock: Clock = {
  wall: () => systemClock.wall(),
  now: () => systemClock.now(),
  after(ms, task) {
    const canceled = new AbortController();
    scheduler.wait(ms, { signal: canceled.signal }).then(task, () => {});
    return () => canceled.abort();
  },
};

/**
 * Starts an export on a running gateway and writes its rows to standard output, or to the file of `--output`, where a
 * later run continues it. The process exits with 3 if rows have errors. The gateway spends what the job costs; the
 * command itself costs no upstream request.
 * @throws UsageError for invalid arguments; CommandError if the export is invalid, fails or is interrupted, with the
 * code that the process exits with.
 */
export async function runExport(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const options = exportOptions(args, env);
  const stop = new AbortController();
  const interrupt = (signal: 'SIGINT' | 'SIGTERM', code: number): void => {
    // Once: a second signal ends the process at once.
    process.once(signal, () => stop.abort(new CommandError('Interrupted.', { exitCode: code })));
  };
  interrupt('SIGINT', exitCode.interrupted);
  interrupt('SIGTERM', exitCode.terminated);
  const progress = new JobProgressLine(
    commandClock,
    options.output === null && process.stdout.isTTY,
  );
  const client = new GatewayClient({
    ...options,
    clock: commandClock,
    signal: stop.signal,
    delayed: (sentence) => progress.show(sentence, true),
  });
  const job = await exported(options, { client, progress, signal: stop.signal }).finally(() =>
    progress.end(),
  );
  process.stderr.write(`Complete: ${progressText(job)}, ${job.failures} with errors.\n`);
  if (job.failures > 0) process.exitCode = exitCode.partial;
}

interface Following {
  readonly client: GatewayClient;
  readonly progress: JobProgressLine;
  readonly signal: AbortSignal;
}

/** Starts a job or continues that of an earlier run, and writes all of its rows. */
async function exported(options: ExportOptions, following: Following): Promise<RemoteJob> {
  const { client, signal } = following;
  const note = new JobNote(options.output, options.request);
  const id = note.job.id ?? (await started(options, client, note));
  const isContinued = note.job.id !== null;
  let job: RemoteJob;
  try {
    const output = await outputOf(options, isContinued, signal);
    try {
      // Only now: the rows of an earlier export are no longer in the file.
      note.started(id);
      if (isContinued && (await client.job(id))?.state === 'FAILED') await client.resume(id);
      job = await followJob(id, { ...following, clock: commandClock, output });
    } finally {
      await output.close();
    }
  } catch (error) {
    if (!(error instanceof CommandError) || error instanceof RefusedRequest) throw error;
    const message = `${error.message} ${howToContinue(options, id)}`;
    throw new CommandError(message, { cause: error, exitCode: error.exitCode });
  }
  // One that has failed can be continued.
  if (job.state !== 'FAILED') note.remove();
  if (job.state === 'DONE') return job;
  throw new CommandError(endOf(job, options));
}

async function started(
  { request }: ExportOptions,
  client: GatewayClient,
  note: JobNote,
): Promise<string> {
  try {
    return await client.start(request, note.job.key);
  } catch (error) {
    // Refused: nothing was started.
    if (error instanceof RefusedRequest) note.remove();
    throw error;
  }
}

function outputOf(
  { output }: ExportOptions,
  isContinued: boolean,
  signal: AbortSignal,
): RowOutput | Promise<RowOutput> {
  return output === null ? new RowsOnStandardOutput(signal) : FileOutput.open(output, isContinued);
}

function howToContinue({ output }: ExportOptions, id: string): string {
  const how =
    output === null
      ? `Query job(id: "${id}") { url } for its rows.`
      : `Run the same command again to continue ${output}.`;
  return `The gateway continues the job ${id} until cancelJob ends it. ${how}`;
}

function endOf({ error, id, state }: RemoteJob, { output }: ExportOptions): string {
  if (state === 'CANCELED') return 'The job was canceled. Its rows so far are written.';
  if (state === 'EXPIRED') return 'The job ended long ago, and its rows were deleted.';
  const how =
    output === null ? `resumeJob continues the job ${id}.` : 'Run the same command again to retry.';
  return `The job has failed: ${error?.message ?? state} ${how}`;
}
