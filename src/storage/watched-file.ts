import { statSync } from 'node:fs';
import { reasonOf } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { readTextFile } from './text-file.ts';

/** Time between two checks of a file, in milliseconds. */
export const LOOK_EVERY_MS = 1000;

interface WatchedFileOptions<T> {
  readonly file: string;
  readonly maxBytes: number;
  /** Reads the text of the file. Throws if the text is unusable; the message is the reason, as part of a sentence. */
  readonly parse: (text: string) => T;
  /** The content until the file can be read. */
  readonly initial: T;
  readonly clock: Clock;
  /** Called with the reason, once for each, why a file cannot be used for longer than a write takes. */
  readonly failed: (reason: string) => void;
}

/**
 * The content of a file at its last successful read. A file may be replaced (another inode) or written in place, as a
 * single file that is mounted into a container must be: both change what `stat` returns. A read during a write can find
 * a part of the file, and a second write within one tick of the file system's clock does not change what `stat`
 * returns. So a file is read at each check until two reads find the same.
 */
export class WatchedFile<T> {
  readonly #options: WatchedFileOptions<T>;
  #content: T;
  /** The state of the file that two reads found; empty before the second. */
  #settled = '';
  /** The state and the text that the last read found, until a second read finds the same. */
  #found = '';
  /** Why the last check failed, and whether that was reported. */
  #failure = '';
  #reported = false;
  #lookedAt: number;

  constructor(options: WatchedFileOptions<T>) {
    this.#options = options;
    this.#content = options.initial;
    this.#lookedAt = options.clock.now();
    this.#look();
  }

  /** Its content. The file is checked at most once a second. */
  get current(): T {
    const now = this.#options.clock.now();
    if (now - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = now;
      this.#look();
    }
    return this.#content;
  }

  /** Whether two reads have found `current`, so that it is no part of a file that is being written. */
  get isSettled(): boolean {
    return this.#settled !== '';
  }

  /** Whether the file cannot be used, so that `current` is older than it. Checks the file like `current`. */
  get isUnusable(): boolean {
    return this.current !== undefined && this.#reported;
  }

  #look(): void {
    const { file, maxBytes, parse } = this.#options;
    try {
      const state = stateOf(file);
      if (state === this.#settled) return;
      this.#settled = '';
      const text = readTextFile(file, maxBytes);
      this.#content = parse(text);
      this.#failure = '';
      this.#reported = false;
      const found = state + text;
      if (found === this.#found) this.#settled = state;
      this.#found = this.#settled ? '' : found;
    } catch (error) {
      this.#failed(reasonOf(error));
    }
  }

  /** One failure may be a write in progress; a second check with the same result is not. */
  #failed(reason: string): void {
    if (reason !== this.#failure) {
      this.#failure = reason;
      this.#reported = false;
      return;
    }
    if (this.#reported) return;
    this.#reported = true;
    this.#options.failed(reason);
  }
}

/** What differs between two files, or one file before and after it is written. */
function stateOf(file: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs, ''].join(' ');
}
