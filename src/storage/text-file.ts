import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Without waiting for the other end of a pipe, and without taking a terminal for its own. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/**
 * Reads a file as UTF-8, synchronously. A pipe would block the process until it is written to, a device without
 * end, and a huge file would take all memory: none of them is read.
 * @throws TypeError whose message says why a file is not read; the error of the file system otherwise.
 */
export function readTextFile(path: string, maxBytes: number): string {
  const file = openSync(path, FLAGS);
  try {
    if (!fstatSync(file).isFile()) throw new TypeError('it is not a regular file');
    // One byte more than it may have. Its size is not used: it can be growing.
    let bytes = Buffer.allocUnsafe(Math.min(maxBytes, 64 * 1024) + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      if (read === 0) return bytes.toString('utf8', 0, length);
      length += read;
      if (length > maxBytes) throw new TypeError(`it is larger than ${maxBytes} bytes`);
      if (length < bytes.length) continue;
      const larger = Buffer.allocUnsafe(Math.min(maxBytes + 1, 2 * bytes.length));
      bytes.copy(larger);
      bytes = larger;
    }
  } finally {
    closeSync(file);
  }
}

/**
 * The same, or `null` if there is no file.
 * @throws as `readTextFile` does.
 */
export function readTextFileIfThere(path: string, maxBytes: number): string | null {
  try {
    return readTextFile(path, maxBytes);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Whether an error of the file system says that there is no file of that name. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
