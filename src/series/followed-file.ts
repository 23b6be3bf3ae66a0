import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { isMissing } from '../storage/text-file.ts';

/** Reads what another process adds to a file. */
export class FollowedFile {
  readonly #path: string;
  #inode = -1;
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The complete lines since the last call, or all of them if the file was replaced; none if there is no file.
   * @throws the error of the file system.
   */
  lines(): string[] {
    const file = openIfThere(this.#path);
    if (file === null) return [];
    try {
      const { ino, size } = fstatSync(file);
      if (ino !== this.#inode || size < this.#offset) this.#offset = 0;
      this.#inode = ino;
      const bytes = Buffer.alloc(size - this.#offset);
      const read = readSync(file, bytes, 0, bytes.length, this.#offset);
      const text = bytes.toString('latin1', 0, read);
      const lines = text.slice(0, text.lastIndexOf('\n') + 1);
      this.#offset += lines.length;
      return lines.split('\n').slice(0, -1);
    } finally {
      closeSync(file);
    }
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
