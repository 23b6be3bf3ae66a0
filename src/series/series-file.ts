import { closeSync, fstatSync, openSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../errors.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';
import { readTextFileIfThere, writeLines, writeWhole } from '../storage/text-file.ts';
import { HEAD, otherVersion, parseLine, type SeriesLine } from './series-lines.ts';

/** The name of the file. */
const SERIES_FILE = 'counts.log';
/** Lines read in one turn of the event loop. */
const LINES_A_TURN = 500;
/** A file is not rewritten for less than this, in bytes. */
const REWRITE_FROM = 64 * 1024;
/** The share of the maximum size that is left to lines appended since it was rewritten. */
const APPENDED_SHARE = 1 / 8;
/** After a failure, the file is written again after this time, in milliseconds. */
const RETRY_MS = 60_000;
/** A larger file was written with a higher limit: reading it takes seconds. */
const MOST_BYTES = 512 * 1024 * 1024;

interface SeriesFileOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly maxBytes: number;
  /** All that is to be saved, as lines. */
  readonly snapshot: () => Iterable<string>;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/**
 * The file of all series: a snapshot, and a line for each response that has changed a point since, written before its
 * reader has the response. That survives the end of the process, however sudden. A failure is reported once, and does
 * not stop anything.
 */
export class SeriesFile {
  readonly #options: SeriesFileOptions;
  readonly #path: string;
  /** The open file; `null` while it cannot be written. */
  #file: number | null = null;
  /** Bytes of the snapshot at the beginning of the file, and of the lines after it. */
  #snapshotBytes = 0;
  #appendedBytes = 0;
  /** Lines appended since a rewrite began; `null` if none is under way. */
  #meanwhile: string[] | null = null;
  #hasComplained = false;
  #isClosed = false;

  constructor(options: SeriesFileOptions) {
    this.#options = options;
    this.#path = join(options.folder, SERIES_FILE);
  }

  /**
   * Reads the file, calls `apply` for each line, and opens it to be written. What follows a damaged line is lost; a
   * file of a newer version stays as it is, and nothing is written. Returns whether it can be written.
   */
  async open(apply: (line: SeriesLine) => void): Promise<boolean> {
    const { complain, folder } = this.#options;
    try {
      const text = readTextFileIfThere(this.#path, MOST_BYTES);
      const head = text?.slice(0, text.indexOf('\n')) ?? HEAD;
      const version = head === HEAD ? null : otherVersion(head);
      if (version !== null) {
        complain(
          `STATE_DIR ${folder}: ${SERIES_FILE} has version ${version} of its format, which this version of the gateway cannot read. The file stays as it is, and the history of counts is kept in memory only.`,
        );
        return false;
      }
      const good = text === null ? 0 : await this.#read(text, apply);
      if (text !== null && good > 0) {
        if (good < text.length) truncateSync(this.#path, good);
        this.#file = openSync(this.#path, 'a', 0o600);
        this.#snapshotBytes = good;
        return true;
      }
    } catch (error) {
      complain(
        `STATE_DIR ${folder}: ${SERIES_FILE} cannot be read (${reasonOf(error)}). The history of counts is kept in memory only.`,
      );
      return false;
    }
    await this.#rewrite();
    return true;
  }

  /** Adds a line. */
  append(text: string): void {
    if (this.#isClosed) return;
    this.#meanwhile?.push(text);
    if (this.#file === null) return;
    try {
      writeWhole(this.#file, text);
      this.#appendedBytes += text.length;
    } catch (error) {
      this.#fail(error);
      return;
    }
    const most = this.#options.maxBytes * APPENDED_SHARE;
    const enough = Math.min(Math.max(REWRITE_FROM, this.#snapshotBytes), most);
    if (this.#appendedBytes > enough && this.#meanwhile === null) inBackground(this.#rewrite());
  }

  /** Writes a new file in the place of the old one, as soon as a rewrite under way is complete. */
  renew(): void {
    if (this.#meanwhile === null && !this.#isClosed) inBackground(this.#rewrite());
  }

  /** Closes the file, which is complete. */
  close(): void {
    this.#isClosed = true;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  /** Applies all lines up to the first that is damaged; returns their length, or 0 if there is none. */
  async #read(text: string, apply: (line: SeriesLine) => void): Promise<number> {
    const { complain, folder } = this.#options;
    let good = text.startsWith(`${HEAD}\n`) ? HEAD.length + 1 : 0;
    let lines = 0;
    while (good > 0 && good < text.length) {
      const end = text.indexOf('\n', good);
      const line = end < 0 ? null : parseLine(text.slice(good, end));
      if (!line) break;
      apply(line);
      good = end + 1;
      lines += 1;
      if (lines % LINES_A_TURN === 0) await loopTurns.turn();
    }
    // The last line of a process that was killed can be incomplete: that is no damage.
    if (good === 0 || text.indexOf('\n', good) >= 0) {
      complain(
        `STATE_DIR ${folder}: ${SERIES_FILE} is damaged after ${good} of ${text.length} bytes. The history of counts continues with what precedes the damage.`,
      );
    }
    return good;
  }

  /** Writes a snapshot into a new file, in turns of the event loop, and puts it in the place of the old one. */
  async #rewrite(): Promise<void> {
    const next = `${this.#path}.new`;
    const meanwhile: string[] = [];
    this.#meanwhile = meanwhile;
    let file: number | null = null;
    try {
      rmSync(next, { force: true });
      file = openSync(next, 'wx', 0o600);
      writeWhole(file, `${HEAD}\n`);
      await writeLines(file, this.#options.snapshot(), () => this.#isClosed);
      writeWhole(file, meanwhile.join(''));
      renameSync(next, this.#path);
      if (this.#file !== null) closeSync(this.#file);
      this.#file = file;
      this.#snapshotBytes = fstatSync(file).size;
      this.#appendedBytes = 0;
      this.#hasComplained = false;
    } catch (error) {
      if (file !== null) {
        closeSync(file);
        rmSync(next, { force: true });
      }
      if (!this.#isClosed) this.#fail(error);
    } finally {
      this.#meanwhile = null;
    }
  }

  /** The file may end within a line: nothing is appended before it was rewritten. */
  #fail(error: unknown): void {
    const { clock, complain, folder } = this.#options;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
    clock.after(RETRY_MS, () => this.renew());
    if (this.#hasComplained) return;
    this.#hasComplained = true;
    complain(
      `STATE_DIR ${folder}: ${SERIES_FILE} cannot be written (${reasonOf(error)}). The history of counts is not saved until it can be written again.`,
    );
  }
}
