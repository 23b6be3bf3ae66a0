import { join } from 'node:path';
import { type DataReader, openOutput } from './data-reader.ts';
import { GrowingFile } from './growing-file.ts';
import {
  jobFileNames,
  replaceSavedJob,
  type SavedJob,
  type SavedLengths,
  textOfJob,
} from './saved-job.ts';
import { linesOfSeen, seenRows } from './seen-rows.ts';
import { JobStorageFailed, storageErrorOf } from './storage-errors.ts';
import type { StorageSpace } from './storage-space.ts';

interface JobFilesOptions<R> {
  readonly id: string;
  /** The folder with its files. */
  readonly path: string;
  /** The number of its owner: 0 for the process that created it. */
  readonly fence: number;
  readonly outputName: 'data.jsonl' | 'data.csv';
  readonly space: StorageSpace;
  /** Whether this process may write. */
  readonly isOwned: () => boolean;
  /** The number of the latest owner, if other processes can take the job over; -1 if it was removed. */
  readonly newestFence: (() => Promise<number>) | null;
  readonly saved: SavedJob<R>;
  /** The sizes of its files, which can be greater than those of its last checkpoint. */
  readonly sizes: Readonly<Record<'data' | 'record' | 'seen', number>>;
}

/** Why a process must not write a job. */
const TAKEN_OVER = 'another process continues it';

/**
 * The files of one job. What was appended counts once a checkpoint is saved: after the end of the process or of the
 * machine at any time, the job continues at its last checkpoint. All methods work in the background, those that change
 * files one after the other. After one of them has failed, so do those that were called before it was reported, and all
 * that was appended since the last checkpoint is cut off.
 */
export class JobFiles<R> {
  readonly id: string;
  /** The number of the owner of these files: each process that takes the job over has a greater one. */
  readonly fence: number;
  readonly #options: JobFilesOptions<R>;
  readonly #data: GrowingFile;
  readonly #seen: GrowingFile;
  #saved: SavedJob<R>;
  #recordBytes: number;
  #turns: Promise<unknown> = Promise.resolve();
  /** The failed methods so far, and the latest failure. */
  #failures = 0;
  #failure: JobStorageFailed | null = null;
  /** Why no method works any more. */
  #ended: JobStorageFailed | null = null;
  /** Whether files can be longer than at the last checkpoint, without being appended to. */
  #mustCut: boolean;

  constructor(options: JobFilesOptions<R>) {
    const { fence, id, outputName, path, saved, sizes, space } = options;
    this.id = id;
    this.fence = fence;
    this.#options = options;
    this.#saved = saved;
    this.#data = new GrowingFile(join(path, outputName), space, sizes.data);
    this.#seen = new GrowingFile(join(path, jobFileNames.seen), space, sizes.seen);
    this.#recordBytes = sizes.record;
    space.add(sizes.record);
    const { data, seen } = saved.lengths;
    this.#mustCut = sizes.data > data || sizes.seen > seen;
  }

  /** Whether this process may write them, as far as it knows. */
  get isOwned(): boolean {
    return this.#ended === null && this.#options.isOwned();
  }

  /** The record of the last checkpoint. */
  get record(): R {
    return this.#saved.record;
  }

  /**
   * The size of the lines of the output up to the last checkpoint, which never change, in bytes; `null` if it was
   * discarded.
   */
  get outputBytes(): number | null {
    const { data, isDiscarded } = this.#saved.lengths;
    return isDiscarded ? null : data;
  }

  /** The size of all files, in bytes. */
  get bytes(): number {
    return this.#data.bytes + this.#seen.bytes + this.#recordBytes;
  }

  /**
   * Appends whole lines to the output.
   * @throws JobStorageFull or JobStorageFailed; TypeError for a text that does not end with a line.
   */
  async append(lines: string): Promise<void> {
    if (lines !== '' && !lines.endsWith('\n')) throw new TypeError('the last line is not complete');
    await this.#append(this.#data, lines);
  }

  /**
   * Appends identities of rows, any strings.
   * @throws JobStorageFull or JobStorageFailed.
   */
  async appendSeen(identities: readonly string[]): Promise<void> {
    await this.#append(this.#seen, linesOfSeen(identities));
  }

  /**
   * Saves what was appended together with a record: resolves when both survive the end of the machine. A record can be
   * saved although there is no space for output, as long as the disk has some.
   * @throws JobStorageFull or JobStorageFailed; the last checkpoint is still valid.
   */
  async checkpoint(record: R): Promise<void> {
    await this.#inTurn(async () => {
      await this.#data.save();
      await this.#seen.save();
      const { lengths } = this.#saved;
      await this.#save(record, { ...lengths, data: this.#data.bytes, seen: this.#seen.bytes });
    });
  }

  /**
   * Cuts off what was appended after the last checkpoint. Returns the identities of all rows up to there, in their
   * order, which are read as they are consumed.
   * @throws JobStorageFailed also while they are consumed.
   */
  async resume(): Promise<AsyncIterable<string>> {
    await this.#inTurn(() => this.#cut());
    return seenRows(this.#seen.path, this.#saved.lengths.seen);
  }

  /**
   * Opens the output for reading, also while it grows. The caller closes it. `null` if it was discarded.
   * @throws JobStorageFailed
   */
  async openData(): Promise<DataReader | null> {
    const { outputBytes } = this;
    return outputBytes === null ? null : openOutput(this.#data.path, outputBytes);
  }

  /**
   * Removes the output, and keeps the record. Who reads the output can read on.
   * @throws JobStorageFailed
   */
  async discardOutput(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#save(this.record, { data: 0, seen: 0, isDiscarded: true });
      for (const file of this.#files) await file.remove();
    });
  }

  /** Gives up what was appended since the last checkpoint, and holds no file open. Waits for running methods. */
  async close(): Promise<void> {
    // oxlint-disable-next-line promise/always-return
    const turn = this.#turns.then(async () => {
      this.#mustCut = true;
      for (const file of this.#files) await file.close();
    });
    this.#turns = turn;
    await turn;
  }

  /**
   * Ends the use of the files by this process, after a claim: the next owner takes them over without a copy. No effect
   * in a folder that is not shared.
   * @throws JobStorageFailed; the next owner then copies them.
   */
  async release(): Promise<void> {
    if (!this.#options.newestFence) return;
    await this.#inTurn(async () => {
      await this.#cut();
      await this.#save(this.record, { ...this.#saved.lengths, isReleased: true });
      this.#ended = new JobStorageFailed('it was released');
    });
  }

  /**
   * Ends the use of the files, which `remove` then removes, after all methods that were called before.
   * @throws JobStorageFailed
   */
  async end(remove: () => Promise<void>): Promise<void> {
    await this.#inTurn(async () => {
      await this.#refuseStale();
      await remove();
      await this.#leave('it was removed');
    });
  }

  /** Ends the use of the files, which others continue, after all methods that were called before. Never rejects. */
  async leave(): Promise<void> {
    this.#turns = this.#turns.then(() => this.#leave(TAKEN_OVER));
    await this.#turns;
  }

  async #leave(reason: string): Promise<void> {
    this.#ended = new JobStorageFailed(reason);
    for (const file of this.#files) await file.release();
    this.#options.space.add(-this.#recordBytes);
    this.#recordBytes = 0;
  }

  get #files(): readonly GrowingFile[] {
    return [this.#data, this.#seen];
  }

  #append(file: GrowingFile, lines: string): Promise<void> {
    return this.#inTurn(async () => {
      if (this.outputBytes === null) throw new JobStorageFailed('its output was discarded');
      await file.append(Buffer.from(lines));
    });
  }

  /** Runs a method after those before it. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const failures = this.#failures;
    const turn = this.#turns.then(async () => {
      if (this.#ended) throw this.#ended;
      if (this.#failures !== failures) throw this.#failure;
      // Nothing is cut then: what is there belongs to the other process.
      if (!this.#options.isOwned()) throw new JobStorageFailed('another process uses the folder');
      try {
        if (this.#mustCut) await this.#cut();
        return await work();
      } catch (error) {
        throw await this.#fail(error);
      }
    });
    this.#turns = turn.catch(() => {});
    return turn;
  }

  /** What was written since the last checkpoint would be written again, and takes space that a record needs. */
  async #fail(error: unknown): Promise<JobStorageFailed> {
    const failure = await this.#failureOf(error);
    this.#mustCut = true;
    // oxlint-disable-next-line promise/no-promise-in-callback
    await this.#cut().catch(() => {});
    this.#failures += 1;
    this.#failure = failure;
    return failure;
  }

  /** The files of an owner that another one has followed are removed, with various errors. */
  async #failureOf(error: unknown): Promise<JobStorageFailed> {
    // oxlint-disable-next-line promise/no-promise-in-callback
    await this.#refuseStale().catch(() => {});
    return this.#ended ?? storageErrorOf(error);
  }

  /** @throws JobStorageFailed if another process has taken the job over; Error of the file system. */
  async #refuseStale(): Promise<void> {
    const newest = (await this.#options.newestFence?.()) ?? this.fence;
    if (newest === this.fence) return;
    this.#ended = new JobStorageFailed(TAKEN_OVER);
    throw this.#ended;
  }

  async #cut(): Promise<void> {
    const { data, seen } = this.#saved.lengths;
    await this.#data.cut(data);
    await this.#seen.cut(seen);
    this.#mustCut = false;
  }

  async #save(record: R, lengths: SavedLengths): Promise<void> {
    const saved = { record, lengths };
    const text = textOfJob(saved);
    await replaceSavedJob(this.#options.path, text);
    // From now on the files are resumed from here.
    this.#saved = saved;
    const bytes = Buffer.byteLength(text);
    this.#options.space.add(bytes - this.#recordBytes);
    this.#recordBytes = bytes;
    // After it was saved: an owner that comes later has then read it.
    await this.#refuseStale();
  }
}
