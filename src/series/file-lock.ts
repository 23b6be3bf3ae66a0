import { join } from 'node:path';
import type { Clock } from '../scheduling/clock.ts';
import { readTextFileIfThere, replaceTextFile } from '../storage/text-file.ts';
import { isAlive, ownerName } from '../upstream/budget/journal/owner.ts';

const FILE = 'counts.lock';
const MAX_BYTES = 1024;
/** The holder writes this often, in milliseconds. */
const BEAT_MS = 20_000;
/** A holder on another machine, which cannot be checked, has ended if it has not written for this long. */
const DEAD_AFTER_MS = 3 * BEAT_MS;

/**
 * Lets one of several processes write to a folder that they share. A holder that was killed is replaced at once on its
 * own machine, and after a minute by another one.
 */
export class FileLock {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #owner: string;
  #beats = 0;
  #beatAt = Number.NEGATIVE_INFINITY;
  /** The text of the other holder, and since when it is the same, on `clock.now()`. */
  #other = '';
  #otherSince = 0;

  constructor(folder: string, clock: Clock) {
    this.#path = join(folder, FILE);
    this.#clock = clock;
    this.#owner = `${ownerName()}/${Math.round(clock.wall())}`;
  }

  /**
   * Whether this process may write: to be called every few seconds. It takes the lock if there is no holder.
   * @throws the error of the file system if the folder cannot be written.
   */
  hold(): boolean {
    const now = this.#clock.now();
    const text = this.#read();
    const owner = text.split(' ')[0] ?? '';
    if (owner === this.#owner) {
      if (now - this.#beatAt >= BEAT_MS) this.#write(now);
      return true;
    }
    if (text !== this.#other) {
      this.#other = text;
      this.#otherSince = now;
    }
    if (text !== '' && (isAlive(owner) || this.#isFresh(owner, now))) return false;
    // Two processes can take it at once: the next call tells which of them has it.
    this.#write(now);
    return false;
  }

  /** Lets another process have it. */
  release(): void {
    try {
      if (this.#read().startsWith(`${this.#owner} `)) replaceTextFile(this.#path, '');
    } catch {
      // Then it is taken from this process when that has ended.
    }
  }

  #isFresh(owner: string, now: number): boolean {
    const [host] = this.#owner.split('/');
    return !owner.startsWith(`${host}/`) && now - this.#otherSince < DEAD_AFTER_MS;
  }

  #read(): string {
    return readTextFileIfThere(this.#path, MAX_BYTES) ?? '';
  }

  #write(now: number): void {
    this.#beats += 1;
    this.#beatAt = now;
    replaceTextFile(this.#path, `${this.#owner} ${this.#beats}`);
  }
}
