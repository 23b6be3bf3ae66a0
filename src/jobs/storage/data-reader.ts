import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { JobStorageFailed, storageErrorOf } from './storage-errors.ts';

/** Bytes that are read at a time, and memory of a reader. */
const PIECE_BYTES = 64 * 1024;

/** The output of a job that is being read: its complete lines at the time when it was opened. */
export class DataReader {
  /** Its size in bytes. */
  readonly size: number;
  readonly #file: FileHandle | null;

  /** Begins to read the first `size` bytes of a file. */
  constructor(file: FileHandle | null, size: number) {
    this.#file = file;
    this.size = size;
  }

  /**
   * The bytes from `start` up to and without `end`, read as they are consumed. All pieces are in the same memory: each
   * is valid until the next one is requested.
   * @throws JobStorageFailed
   */
  async *pieces(start: number, end: number): AsyncGenerator<Buffer, void> {
    const file = this.#file;
    const stop = Math.min(end, this.size);
    if (!file || start >= stop) return;
    const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, stop - start));
    for (let at = start; at < stop; ) {
      const most = Math.min(piece.length, stop - at);
      const { bytesRead } = await file.read(piece, 0, most, at).catch((error: unknown) => {
        throw storageErrorOf(error);
      });
      if (bytesRead === 0) throw new JobStorageFailed('a file is too short');
      yield piece.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  /** Ends reading. */
  async close(): Promise<void> {
    await this.#file?.close();
  }
}

/**
 * Opens the output of a job, of which `size` bytes are complete.
 * @throws JobStorageFailed
 */
export async function openOutput(path: string, size: number): Promise<DataReader> {
  try {
    return new DataReader(size === 0 ? null : await openStored(path), size);
  } catch (error) {
    throw storageErrorOf(error);
  }
}

/** Without waiting for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a file of a job for reading. Links are not followed, neither in its place nor in that of its folder.
 * @throws Error of the file system.
 */
async function openStored(path: string): Promise<FileHandle> {
  if ((await lstat(dirname(path))).isSymbolicLink()) throw new JobStorageFailed('a link');
  return open(path, FLAGS);
}

/**
 * Writes pieces no faster than they are taken: the next one is requested once the last has left for the system, so
 * their memory can be used again. Returns whether all were written; `to` can be closed before.
 * @throws the error of the pieces.
 */
export async function writePieces(pieces: AsyncIterable<Buffer>, to: Writable): Promise<boolean> {
  for await (const piece of pieces) {
    if (!(await isTaken(piece, to))) return false;
  }
  return true;
}

function isTaken(piece: Buffer, to: Writable): Promise<boolean> {
  if (to.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    // A response that is closed does not always report what becomes of its pieces.
    const closed = (): void => resolve(false);
    to.once('close', closed);
    to.write(piece, (error) => {
      to.off('close', closed);
      resolve(!error);
    });
  });
}
