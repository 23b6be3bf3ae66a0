import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { isMissing } from '../../storage/text-file.ts';
import { sizeOf } from './growing-file.ts';
import { JobFiles } from './job-files.ts';
import {
  claimFence,
  copyJobFiles,
  fencesIn,
  type JobPlace,
  newestPlace,
  removeEarlier,
  removeFiles,
  removeJobFiles,
  SHORT,
} from './job-places.ts';
import {
  jobFileNames,
  readSavedJob,
  replaceSavedJob,
  type SavedJob,
  type SavedLengths,
  saveNames,
  textOfJob,
} from './saved-job.ts';
import { JobStorageFailed, storageErrorOf } from './storage-errors.ts';
import { StorageSpace } from './storage-space.ts';
import {
  removeTurnRequests,
  requestedTurn,
  requestTurn,
  type TurnRequest,
} from './turn-requests.ts';

interface JobFolderOptions<R> {
  /** The folder of all jobs; it is created if it is missing. */
  readonly root: string;
  /** Whether this process may write it. If not, all that would change files fails. */
  readonly isOwned: () => boolean;
  /** Whether other processes use it, too: a job of theirs is then written after `claim`. By default not. */
  readonly isShared?: boolean;
  readonly clock: Clock;
  /** Maximum size of the output of all jobs, in bytes. */
  readonly maxBytes: number;
  /**
   * Reads a record from JSON.
   * @throws TypeError whose message says why it cannot be read.
   */
  readonly parse: (text: string) => R;
  /** The name of the output of a job. */
  readonly outputName: (record: R) => 'data.jsonl' | 'data.csv';
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** What an id can be. It is the name of a folder, and a part of a path in URLs. */
const ID = /^[0-9a-z-]{1,40}$/;
/** Folders of jobs that were being created or removed when a process ended. */
const LEFTOVER = /^[0-9a-z-]{1,40}\.(?:new|old)$/;
/** No process takes longer to create or remove a job, in milliseconds. */
const LONGEST_MS = 86_400_000;
/** Reads of a job that others take over meanwhile. */
const MOST_TRIES = 3;

/**
 * The files of all jobs of a gateway, each in a folder `<root>/<id>`: `job.json` with the record and the lengths of the
 * others, `data.jsonl` or `data.csv` with the output, and `seen` with the identities of its rows. A job appears and
 * disappears as a whole, whenever the process ends. Costs no upstream request.
 *
 * Several processes can share it. No file system writes a file only if its writer is still the owner of a lease, so
 * each owner of a job has files of its own, in a folder with a number that only one process can create: what a former
 * owner writes after it was suspended is in files that are not read.
 */
export class JobFolder<R> {
  readonly #options: JobFolderOptions<R>;
  readonly #space: StorageSpace;
  readonly #jobs = new Map<string, JobFiles<R>>();
  /** Of a shared folder: the stamp of each job that is only read. */
  readonly #stamps = new Map<string, string>();
  /** Why jobs cannot be used, as it was reported. */
  readonly #damaged = new Map<string, string>();
  #refreshing: Promise<JobFiles<R>[]> | null = null;

  constructor(options: JobFolderOptions<R>) {
    this.#options = options;
    this.#space = new StorageSpace(options.maxBytes);
  }

  /** The size of the files of all jobs, in bytes. Not more than the limit, apart from their records. */
  get bytes(): number {
    return this.#space.bytes;
  }

  /** Whether other processes use it, too. */
  get isShared(): boolean {
    return this.#options.isShared ?? false;
  }

  /**
   * Reads all jobs, ordered by id, and removes what earlier processes left behind. A damaged job is skipped and
   * reported; its files stay. So is a folder that cannot be created or read: there are no jobs then.
   */
  async load(): Promise<JobFiles<R>[]> {
    const { complain, root } = this.#options;
    try {
      await mkdir(root, { recursive: true, mode: 0o700 });
      return await this.#lookAll();
    } catch (error) {
      const { cause = error } = error as Error;
      complain(`${root}: jobs cannot be used (${reasonOf(cause)}).`);
      return [];
    }
  }

  /**
   * All jobs, ordered by id, as other processes have saved them by now. Costs one list of names per job, and its record
   * is read only if it has changed; nothing if the folder is not shared. Calls at the same time are one.
   * @throws JobStorageFailed if the folder cannot be read.
   */
  refresh(): Promise<JobFiles<R>[]> {
    if (!this.#options.isShared) return Promise.resolve(this.#all);
    this.#refreshing ??= this.#lookAll().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  /**
   * A job as it is saved by now, read as by `refresh`; `null` if there is none. One that cannot be read is reported, and
   * is as it was before.
   */
  async find(id: string): Promise<JobFiles<R> | null> {
    if (this.#options.isShared && ID.test(id)) {
      await this.#look(id).catch((error: unknown) => this.#skip(id, error));
    }
    return this.#jobs.get(id) ?? null;
  }

  /**
   * Makes this process the owner of a job, at its last checkpoint: former owners can save nothing any more. To be called
   * with a lease, so that owners do not take a job from each other. Copies output that its owner has not released. A job
   * that this process owns already, also in a folder that is not shared, is returned as it is; `null` without a job.
   * @throws JobStorageFull or JobStorageFailed, also if another process claims it at the same time.
   */
  async claim(id: string): Promise<JobFiles<R> | null> {
    if (!this.#options.isShared) return this.#jobs.get(id) ?? null;
    const folder = join(this.#options.root, id);
    return inStorage(async () => {
      const [latest] = ID.test(id) ? await fencesIn(folder) : [];
      if (latest === undefined) return null;
      const known = this.#jobs.get(id);
      if (known?.isOwned && known.fence === latest) return known;
      const fence = latest + 1;
      const path = await claimFence(folder, fence);
      await this.#copy(folder, path);
      await saveNames(folder);
      const [now] = await fencesIn(folder);
      if (now !== fence) throw new JobStorageFailed('another process takes it over');
      const files = await this.#load(id, { fence, path, stamp: '' }, true);
      await this.#set(files, null);
      // The next owner reads the files of this one.
      await removeEarlier(folder, fence).catch(() => {});
      return files;
    });
  }

  /**
   * Requests a state of a job that another process runs, which sees it by `requested`; no effect without such a job.
   * @throws JobStorageFailed
   */
  async request(id: string, turn: TurnRequest): Promise<void> {
    if (!this.isShared) return;
    await inStorage(() => requestTurn(this.#folderOf(id), turn).catch(ignoreMissing));
  }

  /** The state that another process has requested of a job, if any. @throws JobStorageFailed */
  async requested(id: string): Promise<TurnRequest | null> {
    return this.isShared ? inStorage(() => requestedTurn(this.#folderOf(id))) : null;
  }

  /** Removes what was requested of a job, after its state was saved. @throws JobStorageFailed */
  async removeRequests(id: string): Promise<void> {
    if (this.isShared) await inStorage(() => removeTurnRequests(this.#folderOf(id)));
  }

  /**
   * Creates a job. If that fails, or the process ends, there is no job.
   * @throws JobStorageFull or JobStorageFailed; TypeError for an invalid id.
   */
  async create(id: string, record: R): Promise<JobFiles<R>> {
    const { isOwned, root } = this.#options;
    const folder = this.#folderOf(id);
    if (this.#jobs.has(id)) throw new JobStorageFailed('it exists');
    if (!isOwned()) throw new JobStorageFailed('another process uses the folder');
    this.#space.take(0);
    const path = join(root, `${id}.new`);
    await inStorage(async () => {
      await mkdir(root, { recursive: true, mode: 0o700 });
      await mkdir(path, { mode: 0o700 });
    });
    try {
      const lengths: SavedLengths = {
        data: 0,
        seen: 0,
        isDiscarded: false,
      };
      const saved = { record, lengths };
      await inStorage(async () => {
        await replaceSavedJob(path, textOfJob(saved));
        await rename(path, folder);
      });
      await saveNames(root);
      const sizes = { data: 0, seen: 0, record: Buffer.byteLength(textOfJob(saved)) };
      const job = this.#filesOf({ id, fence: 0, path: folder, saved, sizes }, true);
      await this.#set(job, null);
      return job;
    } catch (error) {
      await removeJobFiles(path).catch(() => {});
      throw error;
    }
  }

  /**
   * Removes a job with all its files, if there is one. Who reads its output can read on.
   * @throws JobStorageFailed; the rest of its files is then removed by the next `load`.
   */
  async remove(id: string): Promise<void> {
    const { root } = this.#options;
    const job = this.#jobs.get(id);
    if (!job) return;
    const path = join(root, `${id}.old`);
    await job.end(() => rename(join(root, id), path));
    if (this.#jobs.get(id) === job) this.#jobs.delete(id);
    await inStorage(() => removeJobFiles(path));
    await saveNames(root);
  }

  /** Gives up what was appended since the last checkpoints, and holds no file open. Waits for running methods. */
  async close(): Promise<void> {
    await Promise.all([...this.#jobs.values()].map((job) => job.close()));
  }

  #folderOf(id: string): string {
    if (!ID.test(id)) throw new TypeError(`"${id}" is not the id of a job`);
    return join(this.#options.root, id);
  }

  get #all(): JobFiles<R>[] {
    return [...this.#jobs.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  async #lookAll(): Promise<JobFiles<R>[]> {
    const { root } = this.#options;
    // The first job creates it.
    const list = () => readdir(root, { withFileTypes: true }).catch(ignoreMissing);
    const entries = (await inStorage(list)) ?? [];
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    for (const name of names.sort()) {
      if (ID.test(name)) await this.#look(name).catch((error: unknown) => this.#skip(name, error));
      else if (LEFTOVER.test(name)) await this.#removeLeftover(name);
    }
    for (const id of this.#jobs.keys()) {
      if (!names.includes(id)) await this.#look(id).catch(() => {});
    }
    return this.#all;
  }

  /** What another process of a shared folder creates now stays. */
  async #removeLeftover(name: string): Promise<void> {
    const { clock, isShared, root } = this.#options;
    const path = join(root, name);
    try {
      if (isShared && clock.wall() - (await stat(path)).mtimeMs < LONGEST_MS) return;
      await removeJobFiles(path);
    } catch (error) {
      if (!isMissing(error)) this.#skip(name, error);
    }
  }

  /** Reports a job that cannot be used, once. */
  #skip(name: string, error: unknown): void {
    const { complain, root } = this.#options;
    const reason = reasonOf(error);
    if (this.#damaged.get(name) === reason) return;
    this.#damaged.set(name, reason);
    const path = join(root, name);
    complain(`${path}: this job cannot be used and is skipped (${reason}).`);
  }

  /** Reads a job if others have changed it. @throws TypeError or Error of the file system if that is impossible. */
  async #look(id: string): Promise<void> {
    const folder = join(this.#options.root, id);
    for (let tries = 1; ; tries += 1) {
      const known = this.#jobs.get(id);
      const place = await newestPlace(folder);
      if (!place) {
        if (known && known === this.#jobs.get(id)) await this.#forget(known);
        return;
      }
      const isSame = known?.isOwned || this.#stamps.get(id) === place.stamp;
      if (known?.fence === place.fence && isSame) return;
      try {
        await this.#set(await this.#load(id, place, !this.#options.isShared), place.stamp);
        this.#damaged.delete(id);
        return;
      } catch (error) {
        const isMoved = (await newestPlace(folder))?.stamp !== place.stamp;
        if (!isMoved || tries === MOST_TRIES) throw error;
      }
    }
  }

  /** Knows a job by other files than before. */
  async #set(files: JobFiles<R>, stamp: string | null): Promise<void> {
    const before = this.#jobs.get(files.id);
    const isLatest = before?.isOwned ? files.fence > before.fence : true;
    if (before && !isLatest) return files.leave();
    this.#jobs.set(files.id, files);
    if (stamp === null) this.#stamps.delete(files.id);
    else this.#stamps.set(files.id, stamp);
    await before?.leave();
  }

  async #forget(files: JobFiles<R>): Promise<void> {
    this.#jobs.delete(files.id);
    this.#stamps.delete(files.id);
    await files.leave();
  }

  /** Gives a new owner the files of the one before. */
  async #copy(folder: string, path: string): Promise<void> {
    const { outputName, parse } = this.#options;
    try {
      const from = await newestPlace(folder);
      if (!from) throw new JobStorageFailed('it was removed');
      const { lengths, record } = readSavedJob(from.path, parse);
      await copyJobFiles(from.path, path, { lengths, outputName: outputName(record) });
      await replaceSavedJob(
        path,
        textOfJob({ record, lengths: { ...lengths, isReleased: false } }),
      );
    } catch (error) {
      await removeJobFiles(path).catch(() => {});
      throw error;
    }
  }

  async #load(id: string, { fence, path }: JobPlace, isOwned: boolean): Promise<JobFiles<R>> {
    const { isShared, outputName, parse } = this.#options;
    const saved = readSavedJob(path, parse);
    const { data, isDiscarded, seen } = saved.lengths;
    // Otherwise they are files that the owner writes or removes now.
    if (!isShared) {
      await rm(join(path, jobFileNames.nextRecord), { force: true });
      const { csv, jsonl, seen: rows } = jobFileNames;
      if (isDiscarded) await removeFiles(path, [csv, jsonl, rows]);
    }
    const size = (name: string) => sizeOf(join(path, name));
    const sizes = {
      data: await size(outputName(saved.record)),
      seen: await size(jobFileNames.seen),
      record: await size(jobFileNames.record),
    };
    if (sizes.data < data || sizes.seen < seen) throw new TypeError(SHORT);
    return this.#filesOf({ id, fence, path, saved, sizes }, isOwned);
  }

  #filesOf(
    of: {
      readonly id: string;
      readonly fence: number;
      readonly path: string;
      readonly saved: SavedJob<R>;
      readonly sizes: Readonly<Record<'data' | 'record' | 'seen', number>>;
    },
    isOwned: boolean,
  ): JobFiles<R> {
    const { isOwned: isFolderOwned, isShared, outputName, root } = this.#options;
    const folder = join(root, of.id);
    return new JobFiles({
      ...of,
      space: this.#space,
      outputName: outputName(of.saved.record),
      isOwned: isOwned ? isFolderOwned : () => false,
      newestFence: isShared ? async () => (await fencesIn(folder))[0] ?? -1 : null,
    });
  }
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

async function inStorage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageErrorOf(error);
  }
}
