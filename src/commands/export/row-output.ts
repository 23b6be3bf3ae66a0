import { type FileHandle, open } from 'node:fs/promises';
import { reasonOf } from '../../errors.ts';
import { CommandError } from '../faults.ts';

/** Where the rows of an export are written to. */
export interface RowOutput {
  /** Number of bytes that are written: where the next download begins. */
  readonly offset: number;
  /** Resolves when the destination has taken the bytes. @throws CommandError if it does not. */
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** A file. Each byte is written at its place, so that two runs on one file do not damage it. */
export class FileOutput implements RowOutput {
  readonly #path: string;
  readonly #file: FileHandle;
  #offset: number;

  private constructor(path: string, file: FileHandle, offset: number) {
    this.#path = path;
    this.#file = file;
    this.#offset = offset;
  }

  /**
   * Opens a file that an earlier run has begun, or an empty one.
   * @throws CommandError if it cannot be opened.
   */
  static async open(path: string, isContinued: boolean): Promise<FileOutput> {
    try {
      // `a` would write at the end, wherever a write belongs; it is used to create the file.
      if (isContinued) await (await open(path, 'a')).close();
      const file = await open(path, isContinued ? 'r+' : 'w');
      return new FileOutput(path, file, (await file.stat()).size);
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  get offset(): number {
    return this.#offset;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const length = bytes.length - done;
      const write = this.#file.write(bytes, done, length, this.#offset);
      const { bytesWritten } = await write.catch((error: unknown) => {
        throw unwritable(this.#path, error);
      });
      done += bytesWritten;
      this.#offset += bytesWritten;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Standard output, whose reader sets the pace. Its errors end the process, in `main.ts`. */
export class RowsOnStandardOutput implements RowOutput {
  readonly #signal: AbortSignal;
  #offset = 0;

  /** A write that waits for a reader ends with `signal`. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get offset(): number {
    return this.#offset;
  }

  async write(bytes: Uint8Array): Promise<void> {
    const signal = this.#signal;
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', stop, { once: true });
      process.stdout.write(bytes, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
    });
    this.#offset += bytes.length;
  }

  async close(): Promise<void> {}
}

function unwritable(path: string, error: unknown): CommandError {
  return new CommandError(`${path} cannot be written (${reasonOf(error)}).`, { cause: error });
}
