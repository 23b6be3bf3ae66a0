import { reasonOf } from '../../errors.ts';

/**
 * The files of a job cannot be used now. They can be resumed from their last checkpoint. The message is one for
 * callers, without paths; the error of the file system is the cause.
 */
export class JobStorageFailed extends Error {
  override readonly name: string = 'JobStorageFailed';

  /** `reason` is a code of the system, or a clause. */
  constructor(
    reason: string,
    {
      cause,
      message = `The files of this job cannot be used (${reason}).`,
    }: StorageErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/** There is no room for more output: on the disk, in a quota of the system or in the limit of all jobs. */
export class JobStorageFull extends JobStorageFailed {
  override readonly name = 'JobStorageFull';
}

interface StorageErrorOptions {
  readonly cause?: unknown;
  readonly message?: string;
}

/** Codes of a system that has no room. */
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT'];

/** What a failure of the file system means for a job. */
export function storageErrorOf(error: unknown): JobStorageFailed {
  if (error instanceof JobStorageFailed) return error;
  const reason = reasonOf(error);
  if (!FULL.includes(reason)) return new JobStorageFailed(reason, { cause: error });
  const message = `The disk with the files of jobs is full (${reason}). Free space on it.`;
  return new JobStorageFull(reason, { cause: error, message });
}

/** The error of a job that would exceed the limit of all jobs. */
export function overLimit(maxBytes: number): JobStorageFull {
  const message = `The files of all jobs have reached their limit of ${maxBytes} bytes. Wait until jobs expire, or raise JOBS_MAX_BYTES.`;
  return new JobStorageFull('JOBS_MAX_BYTES', { message });
}
