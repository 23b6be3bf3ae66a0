import { statSync } from 'node:fs';
import { reasonOf } from './errors.ts';
import type { Clock } from './scheduling/clock.ts';
import { readTextFile } from './text-file.ts';

/** How often a file is looked at, in milliseconds. */
export const LOOK_EVERY_MS = 1000;

interface WatchedFileOptions<T> {
  readonly file: string;
  readonly maxBytes: number;
  /** Reads the text of the file. Throws where it cannot be used; its message says why, in part of a sentence. */
  readonly parse: (text: string) => T;
  /** What it holds until it can be read. */
  readonly initial: T;
  readonly clock: Clock;
  /** Called with the reason, once for each, why a file cannot be used for longer than a write takes. */
  readonly failed: (reason: string) => void;
}

/**
 * What a file holds, as it was when it could last be used. It may be replaced (another inode) or written in place, as a
 * single file that is mounted into a container must be: both change what `stat` returns. Who reads while it is written
 * finds half of it, or what the next write changes within the same tick of the file system's clock; so what was read is
 * read once more at the next look.
 */
export class WatchedFile<T> {
  readonly #options: WatchedFileOptions<T>;
  #content: T;
  /** What the file looked like from outside when it was last read twice; empty while it is in doubt. */
  #settled = '';
  /** ... and when it was read once. */
  #seen = '';
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

  /** Its content; the file is looked at again at most once a second. */
  get current(): T {
    const now = this.#options.clock.now();
    if (now - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = now;
      this.#look();
    }
    return this.#content;
  }

  #look(): void {
    const { file, maxBytes, parse } = this.#options;
    try {
      const before = this.#outside();
      if (before === this.#settled) return;
      this.#settled = '';
      const content = parse(readTextFile(file, maxBytes));
      // Written while it was read: the next look reads it again.
      if (this.#outside() !== before) return;
      this.#content = content;
      this.#failure = '';
      if (before === this.#seen) this.#settled = before;
      this.#seen = before;
    } catch (error) {
      this.#failed(reasonOf(error));
    }
  }

  /** What differs between two files, or one file before and after it is written. */
  #outside(): string {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(this.#options.file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
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
