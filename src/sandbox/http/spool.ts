import { randomUUID } from 'node:crypto';
import { close, createReadStream, openSync, unlinkSync, write } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const writeTo = promisify(write);

/** A body that is too large for memory, in a temporary file that ends with the process. */
export class Spool {
  readonly #fd: number;
  #size = 0;

  constructor() {
    const path = join(tmpdir(), `sandbox-${randomUUID()}`);
    this.#fd = openSync(path, 'wx+', 0o600);
    // The name is removed while the file is open, so the system deletes it at the end of the process.
    unlinkSync(path);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends a chunk. Calls must not overlap. */
  async add(chunk: Buffer): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await writeTo(this.#fd, chunk, done, chunk.length - done, null);
      done += bytesWritten;
      this.#size += bytesWritten;
    }
  }

  /** All bytes from the start, for any number of concurrent readers. */
  read(): Readable {
    return createReadStream('', { fd: this.#fd, start: 0, autoClose: false });
  }

  close(): void {
    close(this.#fd);
  }
}
