import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonMembers } from '../../storage/json-members.ts';
import { readTextFileIfThere } from '../../storage/text-file.ts';

/** Raised when the members below change in a way that older versions must notice. */
const FORMAT = 1;
/** A larger record is not read, in bytes. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The names of all files in the folder of a job. */
export const jobFileNames = {
  record: 'job.json',
  nextRecord: 'job.json.new',
  jsonl: 'data.jsonl',
  csv: 'data.csv',
  seen: 'seen',
} as const;

/** The names of the empty files by which a process requests a state of a job that another one runs. */
export const turnFileNames = { CANCELED: 'cancel', PAUSED: 'pause' } as const;

/** How long the files of a job were at its last checkpoint, in bytes. */
export interface SavedLengths {
  readonly data: number;
  readonly seen: number;
  /** Whether the output was discarded. */
  readonly isDiscarded: boolean;
  /** Whether its owner has ended its use, so that these files are not written any more. */
  readonly isReleased?: boolean;
}

/** The content of `job.json`. */
export interface SavedJob<R> {
  readonly record: R;
  readonly lengths: SavedLengths;
}

/** Writes `job.json`. */
export function textOfJob<R>({ lengths, record }: SavedJob<R>): string {
  return `${JSON.stringify({ format: FORMAT, lengths, record })}\n`;
}

/**
 * Reads `job.json` from the folder of a job; `parse` reads the record from its JSON.
 * @throws TypeError, or the error of the file system, if it cannot be read.
 */
export function readSavedJob<R>(folder: string, parse: (text: string) => R): SavedJob<R> {
  const text = readTextFileIfThere(join(folder, jobFileNames.record), MOST_BYTES);
  if (text === null) throw new TypeError('job.json is missing');
  const { format, lengths, record } = jsonMembers(text);
  if (format !== undefined && format !== FORMAT) throw new TypeError('it has another version');
  if (!isLengths(lengths) || record === undefined) throw new TypeError('job.json is damaged');
  return { lengths, record: parse(JSON.stringify(record)) };
}

/**
 * Replaces `job.json`, atomically: after the end of the process or of the machine, the old text is there or the new one.
 * @throws TypeError for a text that could not be read; the error of the file system if the old text is still there.
 */
export async function replaceSavedJob(folder: string, text: string): Promise<void> {
  if (Buffer.byteLength(text) > MOST_BYTES) throw new TypeError('the record is too large');
  const next = join(folder, jobFileNames.nextRecord);
  try {
    await rm(next, { force: true });
    const file = await open(next, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(next, join(folder, jobFileNames.record));
  } catch (error) {
    await rm(next, { force: true }).catch(() => {});
    throw error;
  }
  await saveNames(folder);
}

/**
 * Resolves when the names in a folder survive the end of the machine. Never rejects: without this, a machine that ends
 * now has the names from before, which is a consistent state, too.
 */
export async function saveNames(folder: string): Promise<void> {
  try {
    const file = await open(folder, 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  } catch {
    // Some systems cannot open a folder.
  }
}

function isLengths(value: unknown): value is SavedLengths {
  if (typeof value !== 'object' || value === null) return false;
  const members = value as Readonly<Record<string, unknown>>;
  const { data, isDiscarded, isReleased = false, seen } = members;
  const isCounted = [data, seen].every((each) => Number.isSafeInteger(each) && Number(each) >= 0);
  return isCounted && typeof isDiscarded === 'boolean' && typeof isReleased === 'boolean';
}
