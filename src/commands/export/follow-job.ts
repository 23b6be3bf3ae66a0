import type { Clock } from '../../scheduling/clock.ts';
import { waitMs } from '../../scheduling/wait.ts';
import { CommandError } from '../faults.ts';
import { type GatewayClient, RefusedRequest, type RemoteJob } from './gateway-client.ts';
import { type JobProgressLine, progressText } from './job-progress.ts';
import type { RowOutput } from './row-output.ts';

interface FollowOptions {
  readonly client: GatewayClient;
  readonly clock: Clock;
  readonly output: RowOutput;
  readonly progress: JobProgressLine;
  readonly signal: AbortSignal;
}

/** Between two looks at a job, in milliseconds: twice as long after each that has found no new rows. */
const FIRST_LOOK_MS = 250;
const LONGEST_LOOK_MS = 5000;

/**
 * Writes the rows of a job as they are complete, until it has ended and all of them are written. No upstream request.
 * @returns the job, in a final state
 * @throws RefusedRequest if there is no such job, CommandError as the client and the output do.
 */
export async function followJob(id: string, options: FollowOptions): Promise<RemoteJob> {
  const { client, clock, output, progress, signal } = options;
  let lookMs = FIRST_LOOK_MS;
  for (;;) {
    const job = await client.job(id);
    if (!job) {
      throw new RefusedRequest(
        `This caller has no job ${id} on the gateway. Delete the file that ends with .job to start again.`,
      );
    }
    progress.show(progressText(job));
    const { offset } = output;
    if (job.url !== null && job.bytes > offset) await client.download(job.url, output);
    if (output.offset > offset) {
      lookMs = FIRST_LOOK_MS;
      continue;
    }
    if (hasEnded(job) && job.bytes <= offset) {
      if (job.bytes === offset || job.state === 'EXPIRED') return job;
      throw new CommandError(`The output of the job has ${job.bytes} bytes, and not ${offset}.`);
    }
    // Also where another replica does not have the rows yet.
    await waitMs(clock, lookMs, signal);
    lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS);
  }
}

function hasEnded({ state }: RemoteJob): boolean {
  return ['DONE', 'FAILED', 'CANCELED', 'EXPIRED'].includes(state);
}
