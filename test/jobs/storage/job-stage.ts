import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { JobFiles } from '../../../src/jobs/storage/job-files.ts';
import { JobFolder } from '../../../src/jobs/storage/job-folder.ts';
import type { Clock } from '../../../src/scheduling/clock.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** A record as these tests have it. */
export interface Marked {
  readonly mark: string;
  readonly output?: 'data.csv';
}

/** What a job of these tests has at a time. */
export interface JobContent {
  readonly mark: string;
  readonly data: string;
  readonly seen: readonly string[];
}

interface FolderTerms {
  readonly maxBytes?: number;
  readonly complain?: (sentence: string) => void;
  readonly isOwned?: () => boolean;
  readonly isShared?: boolean;
  readonly clock?: Clock;
}

/** The folder of jobs as a process begins to use it. */
export function folderAt(root: string, terms: FolderTerms = {}): JobFolder<Marked> {
  return new JobFolder<Marked>({
    root,
    clock: new VirtualClock(),
    isOwned: () => true,
    maxBytes: 1024 ** 3,
    parse: (text) => {
      const record = JSON.parse(text) as Marked;
      if (typeof record.mark !== 'string') throw new TypeError('it has no mark');
      return record;
    },
    outputName: ({ output }) => output ?? 'data.jsonl',
    complain: (sentence) => {
      throw new Error(sentence);
    },
    ...terms,
  });
}

/** A folder for a test, which `removeScratch` removes. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'jobs-'));
  made.push(folder);
  return folder;
}

const made: string[] = [];

/** Removes what tests have made. */
export function removeScratch(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** All that is complete of a job, as its users read it. */
export async function contentOf(files: JobFiles<Marked>): Promise<JobContent> {
  const reader = await files.openData();
  const data = reader ? await buffer(copies(reader.pieces(0, reader.size))) : Buffer.alloc(0);
  await reader?.close();
  const seen: string[] = [];
  for await (const each of await files.resume()) seen.push(each);
  return { mark: files.record.mark, data: data.toString(), seen };
}

/** Pieces that stay valid. */
export async function* copies(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

/** The job that is alone in a folder, as the next process finds it. */
export async function onlyJobAt(root: string, terms: FolderTerms = {}): Promise<JobFiles<Marked>> {
  const [files] = await folderAt(root, terms).load();
  if (!files) throw new Error('there is no job');
  return files;
}

/** Files of a folder that this process has open. */
export function openFilesIn(root: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(root) ? path : [];
    } catch {
      return [];
    }
  });
}
