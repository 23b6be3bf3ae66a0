import { randomUUID } from 'node:crypto';
import { close, createReadStream, openSync, unlinkSync, write } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const writeTo = promisify(write);

/** A body too large for memory, in a temporary file that disappears with the process. */
export class Spool {
  readonly #fd: number;
  #size = 0;

  constructor() {
    const path = join(tmpdir(), `sandbox-${randomUUID()}`);
    this.#fd = openSync(path, 'wx+', 0o600);
    // The open file has no name any more: it is deleted however the process ends.
    unlinkSync(path);
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a chunk at the end; one at a time. */
  async add(chunk: Buffer): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await writeTo(this.#fd, chunk, done, chunk.length - done, null);
      done += bytesWritten;
      this.#size += bytesWritten;
    }
  }

  /** All bytes from the start; any number of readers at a time. */
  read(): Readable {
    return createReadStream('', { fd: this.#fd, start: 0, autoClose: false });
  }

  close(): void {
    close(this.#fd);
  }
}
