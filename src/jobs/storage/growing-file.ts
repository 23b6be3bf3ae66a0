import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import { isMissing } from '../../storage/text-file.ts';
import { JobStorageFailed, storageErrorOf } from './storage-errors.ts';
import type { StorageSpace } from './storage-space.ts';

/** A link in the place of the file is not followed. */
const FLAGS = constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0);

/**
 * A file of a job that only grows, and is cut at its last saved length after a failure. It is open while it has bytes
 * that are not saved, so that a waiting job holds no descriptor. Its methods must not run at the same time.
 */
export class GrowingFile {
  readonly path: string;
  readonly #space: StorageSpace;
  /** The counted bytes: after a failed write, those that it could have written. */
  #bytes: number;
  #file: FileHandle | null = null;

  /** `bytes`: its size, which is counted in `space` from now on. */
  constructor(path: string, space: StorageSpace, bytes = 0) {
    this.path = path;
    this.#space = space;
    this.#bytes = bytes;
    space.add(bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Writes bytes behind the others.
   * @throws JobStorageFull or JobStorageFailed; the file must then be cut.
   */
  async append(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#space.take(bytes.length);
    const at = this.#bytes;
    this.#bytes += bytes.length;
    try {
      this.#file ??= await open(this.path, FLAGS | constants.O_CREAT, 0o600);
      for (let done = 0; done < bytes.length; ) {
        const left = bytes.length - done;
        done += (await this.#file.write(bytes, done, left, at + done)).bytesWritten;
      }
    } catch (error) {
      throw storageErrorOf(error);
    }
  }

  /**
   * Resolves when its bytes survive the end of the machine.
   * @throws JobStorageFull or JobStorageFailed; the file must then be cut.
   */
  async save(): Promise<void> {
    try {
      await this.#file?.datasync();
      await this.#close();
    } catch (error) {
      throw storageErrorOf(error);
    }
  }

  /**
   * Cuts off what is behind this number of bytes.
   * @throws JobStorageFailed, also if the file is shorter.
   */
  async cut(bytes: number): Promise<void> {
    try {
      await this.close();
      const size = await sizeOf(this.path);
      if (size < bytes) throw new JobStorageFailed('a file is too short');
      if (size > bytes) await this.#truncate(bytes);
      this.#count(bytes);
    } catch (error) {
      throw storageErrorOf(error);
    }
  }

  /**
   * Removes the file. Who reads it can read on.
   * @throws JobStorageFailed
   */
  async remove(): Promise<void> {
    try {
      await this.close();
      await rm(this.path, { force: true });
      this.#count(0);
    } catch (error) {
      throw storageErrorOf(error);
    }
  }

  /** Closes the file, whose bytes need not be saved. */
  async close(): Promise<void> {
    await this.#close().catch(() => {});
  }

  /** Ends its use when its folder is removed. */
  async release(): Promise<void> {
    this.#count(0);
    await this.close();
  }

  async #truncate(bytes: number): Promise<void> {
    const file = await open(this.path, FLAGS);
    try {
      await file.truncate(bytes);
    } finally {
      await file.close();
    }
  }

  #count(bytes: number): void {
    this.#space.add(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }
}

/**
 * The size of a file in bytes, of a link its own; 0 without one.
 * @throws Error of the file system for any other reason.
 */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await lstat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
