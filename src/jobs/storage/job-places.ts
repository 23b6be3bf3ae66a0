import { link, lstat, mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../../storage/text-file.ts';
import { openOutput } from './data-reader.ts';
import { sizeOf } from './growing-file.ts';
import { jobFileNames, type SavedLengths, turnFileNames } from './saved-job.ts';
import { JobStorageFailed } from './storage-errors.ts';

/** Where the files of a job are: those of its creator in its folder, those of later owners in `<folder>/<fence>`. */
export interface JobPlace {
  /** The number of the owner: 0 for the creator, greater for each later one. */
  readonly fence: number;
  readonly path: string;
  /** Changes with `job.json`. */
  readonly stamp: string;
}

const FENCE = /^[1-9]\d{0,14}$/;

/**
 * The numbers of the owners of a job, the latest first, also of those that have no record yet; empty without a job. A link
 * to a folder is none.
 */
export async function fencesIn(folder: string): Promise<number[]> {
  const names = await namesIn(folder).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (!names) return [];
  const later = names.filter((name) => FENCE.test(name)).map(Number);
  return [...later.sort((one, other) => other - one), 0];
}

async function namesIn(folder: string): Promise<string[] | null> {
  return (await lstat(folder)).isSymbolicLink() ? null : readdir(folder);
}

/** The path of the files of an owner. */
function pathOfFence(folder: string, fence: number): string {
  return fence === 0 ? folder : join(folder, String(fence));
}

/**
 * The files of the latest owner with a record; `null` without a job. Costs one list of names and one look at a file,
 * unless an owner is taking the job over.
 * @throws TypeError if the job has no record; Error of the file system.
 */
export async function newestPlace(folder: string): Promise<JobPlace | null> {
  for (let tries = 1; ; tries += 1) {
    const fences = await fencesIn(folder);
    if (fences.length === 0) return null;
    for (const fence of fences) {
      const path = pathOfFence(folder, fence);
      const stamp = await stampOf(join(path, jobFileNames.record));
      if (stamp !== null) return { fence, path, stamp };
    }
    // A new owner removes the files of those before it, perhaps since the names were read.
    if (tries === MOST_TRIES) throw new TypeError('job.json is missing');
  }
}

/** Looks at names that others change meanwhile. */
const MOST_TRIES = 3;

async function stampOf(path: string): Promise<string | null> {
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    return `${ino}/${mtimeNs}/${size}`;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/**
 * Creates the folder of the next owner of a job. Of several processes that do so at once one succeeds.
 * @throws JobStorageFailed for the others; Error of the file system.
 */
export async function claimFence(folder: string, fence: number): Promise<string> {
  const path = pathOfFence(folder, fence);
  try {
    await mkdir(path, { mode: 0o700 });
    return path;
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw isTaken ? new JobStorageFailed('another process takes it over') : error;
  }
}

/**
 * Gives the next owner files of its own, as long as at the last checkpoint. What the one before writes from now on is
 * in other files, even through a descriptor that it has open. A file that is not written any more is not copied.
 * @throws TypeError if a file is shorter; Error of the file system.
 */
export async function copyJobFiles(
  from: string,
  to: string,
  { lengths, outputName }: { readonly lengths: SavedLengths; readonly outputName: string },
): Promise<void> {
  const { data, isReleased = false, seen } = lengths;
  await copyPart(from, to, { name: outputName, bytes: data, isFinal: isReleased });
  await copyPart(from, to, { name: jobFileNames.seen, bytes: seen, isFinal: isReleased });
}

async function copyPart(
  from: string,
  to: string,
  of: { readonly name: string; readonly bytes: number; readonly isFinal: boolean },
): Promise<void> {
  const { bytes, isFinal, name } = of;
  if (bytes === 0) return;
  const source = join(from, name);
  const target = join(to, name);
  if ((await sizeOf(source)) < bytes) throw new TypeError(SHORT);
  // Some systems have no links.
  if (isFinal && (await link(source, target).then(isDone, isNotDone))) return;
  // `copyFile` of Node.js never ends if the former owner cuts the file meanwhile.
  const reader = await openOutput(source, bytes);
  try {
    const file = await open(target, 'wx', 0o600);
    try {
      for await (const piece of reader.pieces(0, bytes)) await file.writeFile(piece);
      await file.datasync();
    } finally {
      await file.close();
    }
  } finally {
    await reader.close();
  }
}

const isDone = (): boolean => true;
const isNotDone = (): boolean => false;

/** Why a job is damaged whose files are not those of its record. */
export const SHORT = 'a file is shorter than at the last checkpoint';

/** Removes the files of the owners before one. */
export async function removeEarlier(folder: string, fence: number): Promise<void> {
  for (const each of await fencesIn(folder)) {
    if (each >= fence) continue;
    if (each === 0) await removeFiles(folder, Object.values(jobFileNames));
    else await removeJobFiles(pathOfFence(folder, each));
  }
}

/** Removes the folder of a job. Only files with names of a job: the folder could be another one. */
export async function removeJobFiles(path: string): Promise<void> {
  await removeFiles(path, Object.values(turnFileNames));
  for (const fence of await fencesIn(path)) {
    const owned = pathOfFence(path, fence);
    await removeFiles(owned, Object.values(jobFileNames));
    // Another process may remove it, too.
    await rmdir(owned).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }
}

/** Removes files; those that are missing are no error. */
export async function removeFiles(path: string, names: readonly string[]): Promise<void> {
  for (const name of names) await rm(join(path, name), { force: true });
}
