import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../errors.ts';
import { type AtOnce, inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { writeLines, writeWhole } from './text-file.ts';

/** A file is not rewritten for less than this, in bytes. */
const REWRITE_FROM = 256 * 1024;
/** After a failure, the file is written again after this time, in milliseconds. */
const RETRY_MS = 60_000;

interface AppendedFileOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Whether the folder is still this process's own. */
  readonly isOwned: () => boolean;
  /** The whole content, as lines. */
  readonly snapshot: () => Iterable<string>;
  /**
   * Called when the file lacks lines: removes or renames it, so that no process takes it for complete. Can throw the
   * error of the file system.
   */
  readonly setAside: () => void;
  /** Called when a complete file is in its place. */
  readonly replaced?: () => void;
  /** Called with the reason each time that the file cannot be written. */
  readonly failed: (reason: string) => void;
}

/**
 * A file with a snapshot, and a line for each change since. Lines survive the end of the process, and with `save` also
 * that of the machine. The file is rewritten when the changes are larger than the snapshot, so it takes at most about
 * twice the size of a snapshot.
 */
export class AppendedFile {
  readonly #options: AppendedFileOptions;
  /** The open file; `null` while it cannot be written. */
  #file: number | null = null;
  #snapshotBytes = 0;
  #appendedBytes = 0;
  /** Lines appended since a rewrite began; `null` if none is under way. */
  #meanwhile: string[] | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: AppendedFileOptions) {
    this.#options = options;
  }

  /** Whether changes are not saved now. */
  get isFailing(): boolean {
    return this.#file === null && !this.#isClosed;
  }

  /** Writes the whole content into a new file, at the start. */
  begin(): void {
    let file: number | null = null;
    try {
      file = this.#openNext();
      this.#replace(file, [...this.#options.snapshot()].join(''));
    } catch (error) {
      this.#discard(file);
      this.#fail(error);
    }
  }

  /** Continues the file of the process before, of which the first `bytes` bytes are kept. */
  resume(bytes: number): void {
    const { path } = this.#options;
    try {
      this.#mustOwn();
      this.#file = openSync(path, 'a', 0o600);
      ftruncateSync(this.#file, bytes);
      this.#snapshotBytes = bytes;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Adds a line, which survives the end of the process. */
  append(line: string): void {
    if (this.#isClosed) return;
    this.#meanwhile?.push(line);
    const { clock } = this.#options;
    if (this.#file === null) {
      if (clock.now() - this.#failedAt >= RETRY_MS) this.#rewriteLater();
      return;
    }
    try {
      this.#mustOwn();
      writeWhole(this.#file, line);
      this.#appendedBytes += line.length;
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#appendedBytes > Math.max(REWRITE_FROM, this.#snapshotBytes)) this.#rewriteLater();
  }

  /** Resolves when the appended lines survive the end of the machine. */
  save(): AtOnce<void> {
    const file = this.#file;
    if (file === null) return undefined;
    return new Promise((resolve) => {
      fdatasync(file, (error) => {
        // A file that was replaced meanwhile is closed: the new one has the line, and was saved.
        if (error && file === this.#file) this.#fail(error);
        resolve();
      });
    });
  }

  /** Closes the file, which is complete. */
  close(): void {
    this.#isClosed = true;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #rewriteLater(): void {
    if (this.#meanwhile === null) inBackground(this.#rewrite());
  }

  /** Writes the whole content into a new file, in turns of the event loop, and puts it in the place of the old one. */
  async #rewrite(): Promise<void> {
    const meanwhile: string[] = [];
    this.#meanwhile = meanwhile;
    this.#failedAt = this.#options.clock.now();
    let file: number | null = null;
    try {
      file = this.#openNext();
      await writeLines(file, this.#options.snapshot(), () => this.#isClosed);
      await saved(file);
      if (this.#isClosed) throw new Error('closed');
      if (this.#file !== null && !this.#isOurs(this.#file))
        throw new Error('another process uses it');
      this.#replace(file, meanwhile.join(''));
    } catch (error) {
      this.#discard(file);
      if (!this.#isClosed) this.#fail(error);
    } finally {
      this.#meanwhile = null;
    }
  }

  /** @throws Error if another process could use the folder, since this one cannot write its leases. */
  #mustOwn(): void {
    if (!this.#options.isOwned()) throw new Error('leases.log cannot be written');
  }

  #openNext(): number {
    this.#mustOwn();
    const next = `${this.#options.path}.new`;
    rmSync(next, { force: true });
    return openSync(next, 'wx', 0o600);
  }

  /** Removes a new file that was not completed. */
  #discard(file: number | null): void {
    if (file === null || file === this.#file) return;
    closeSync(file);
    rmSync(`${this.#options.path}.new`, { force: true });
  }

  /** Completes a new file, which replaces the old one. */
  #replace(file: number, rest: string): void {
    const { path, replaced } = this.#options;
    writeWhole(file, rest);
    fdatasyncSync(file);
    renameSync(`${path}.new`, path);
    if (this.#file !== null) closeSync(this.#file);
    this.#file = file;
    this.#snapshotBytes = fstatSync(file).size;
    this.#appendedBytes = 0;
    saveFolder(dirname(path));
    replaced?.();
  }

  /** Whether the file has not been replaced by another process. */
  #isOurs(file: number): boolean {
    return statSync(this.#options.path).ino === fstatSync(file).ino;
  }

  /** Takes the file away, since it will lack lines. */
  #fail(error: unknown): void {
    const { clock, failed, setAside } = this.#options;
    const file = this.#file;
    this.#file = null;
    this.#failedAt = clock.now();
    if (file !== null) {
      try {
        if (this.#isOurs(file)) setAside();
      } catch {
        // What prevents the process from writing can also prevent it from renaming.
      }
      closeSync(file);
    }
    failed(reasonOf(error));
  }
}

/** Resolves when a file survives the end of the machine. */
function saved(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(file, (error) => (error ? reject(error) : resolve()));
  });
}

/** Lets the new name of a file survive the end of the machine. */
function saveFolder(folder: string): void {
  try {
    const file = openSync(folder, 'r');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Some systems cannot open a folder.
  }
}
