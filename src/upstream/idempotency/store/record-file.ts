import {
  closeSync,
  copyFileSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../errors.ts';
import { type AtOnce, inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import { readTextFileIfThere, writeLines, writeWhole } from '../../../text-file.ts';
import { parseHead, parseRecordLine, type RecordLine, type RecordsHead } from './record-lines.ts';

/** The name of the file, */
const RECORDS_FILE = 'writes.log';
/** ... while it lacks records, because it could not be written, */
const INCOMPLETE_FILE = 'writes.incomplete.log';
/** ... and after it was found to be damaged, for the operator. */
const DAMAGED_FILE = 'writes.damaged.log';
/** A file is not rewritten for less than this, in bytes. */
const REWRITE_FROM = 256 * 1024;
/** After a failure, the file is written again after this time, in milliseconds. */
const RETRY_MS = 60_000;
/** A larger file was not written by this program. */
const MOST_BYTES = 512 * 1024 * 1024;

interface RecordFileOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** Whether the folder is still this process's own. */
  readonly isOwned: () => boolean;
  /** The whole content. */
  readonly snapshot: () => Iterable<string>;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** What the processes before have saved. */
export interface Recalled {
  readonly head: RecordsHead;
  readonly lines: readonly RecordLine[];
  /** Whether records are missing. */
  readonly hasLost: boolean;
}

/**
 * The file of records: a snapshot, and a line for each change since. Lines survive the end of the process, and with
 * `save` also that of the machine. While it cannot be written, it has another name, so that no process takes it for complete.
 */
export class RecordFile {
  readonly #options: RecordFileOptions;
  readonly #path: string;
  /** The open file; `null` while it cannot be written. */
  #file: number | null = null;
  #snapshotBytes = 0;
  #appendedBytes = 0;
  /** Lines appended since a rewrite began; `null` if none is under way. */
  #meanwhile: string[] | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  #hasComplained = false;
  #isClosed = false;

  constructor(options: RecordFileOptions) {
    this.#options = options;
    this.#path = join(options.folder, RECORDS_FILE);
  }

  /** Whether changes are not saved now. */
  get isFailing(): boolean {
    return this.#file === null && !this.#isClosed;
  }

  /** Reads what the processes before have saved; `null` if there is nothing, `lost` if it cannot be read. */
  recall(): Recalled | 'lost' | null {
    const incomplete = join(this.#options.folder, INCOMPLETE_FILE);
    let path = this.#path;
    try {
      let text = readTextFileIfThere(path, MOST_BYTES);
      if (text === null) {
        path = incomplete;
        text = readTextFileIfThere(path, MOST_BYTES);
        if (text === null) return null;
      }
      const recalled = parse(text);
      if (recalled && !recalled.hasLost) return { ...recalled, hasLost: path === incomplete };
      // It stays until `begin` replaces it: a process that is killed before must not leave an empty folder.
      this.#keepDamaged(path, copyFileSync);
      return recalled ?? 'lost';
    } catch (error) {
      this.#keepDamaged(path, renameSync);
      this.#complain(`cannot be read (${reasonOf(error)})`);
      return 'lost';
    }
  }

  /** Keeps a damaged file for the operator. */
  #keepDamaged(path: string, keep: (from: string, to: string) => void): void {
    const { complain, folder } = this.#options;
    try {
      keep(path, join(folder, DAMAGED_FILE));
    } catch {
      // It can be a folder, or the disk can be full.
    }
    complain(
      `STATE_DIR ${folder}: ${RECORDS_FILE} is damaged or has another version, and was kept as ${DAMAGED_FILE}. A mutation with an idempotency key that is not known is sent only after its effect was looked for.`,
    );
  }

  /** Writes the whole content into a new file, at the start. */
  begin(): void {
    let file: number | null = null;
    try {
      file = this.#openNext();
      this.#replace(file, [...this.#options.snapshot()].join(''));
    } catch (error) {
      if (file !== null && file !== this.#file) closeSync(file);
      this.#fail(error);
    }
  }

  /** Adds a line, which survives the end of the process. */
  append(line: string): void {
    if (this.#isClosed) return;
    this.#meanwhile?.push(line);
    const { clock } = this.#options;
    if (this.#file === null) {
      if (clock.now() - this.#failedAt >= RETRY_MS) this.#rewriteLater();
      return;
    }
    try {
      this.#mustOwn();
      writeWhole(this.#file, line);
      this.#appendedBytes += line.length;
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#appendedBytes > Math.max(REWRITE_FROM, this.#snapshotBytes)) this.#rewriteLater();
  }

  /** Resolves when the appended lines survive the end of the machine. */
  save(): AtOnce<void> {
    const file = this.#file;
    if (file === null) return undefined;
    return new Promise((resolve) => {
      fdatasync(file, (error) => {
        // A file that was replaced meanwhile is closed: the new one has the line, and was saved.
        if (error && file === this.#file) this.#fail(error);
        resolve();
      });
    });
  }

  /** Closes the file, which is complete. */
  close(): void {
    this.#isClosed = true;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #rewriteLater(): void {
    if (this.#meanwhile === null) inBackground(this.#rewrite());
  }

  /** Writes the whole content into a new file, in turns of the event loop, and puts it in the place of the old one. */
  async #rewrite(): Promise<void> {
    const meanwhile: string[] = [];
    this.#meanwhile = meanwhile;
    this.#failedAt = this.#options.clock.now();
    let file: number | null = null;
    try {
      file = this.#openNext();
      await writeLines(file, this.#options.snapshot(), () => this.#isClosed);
      if (this.#file !== null && !this.#isOurs(this.#file))
        throw new Error('another process uses it');
      this.#replace(file, meanwhile.join(''));
    } catch (error) {
      if (file !== null && file !== this.#file) closeSync(file);
      if (!this.#isClosed) this.#fail(error);
    } finally {
      this.#meanwhile = null;
    }
  }

  /** @throws Error if another process could use the folder, since this one cannot write its leases. */
  #mustOwn(): void {
    if (!this.#options.isOwned()) throw new Error('leases.log cannot be written');
  }

  #openNext(): number {
    this.#mustOwn();
    const next = `${this.#path}.new`;
    rmSync(next, { force: true });
    return openSync(next, 'wx', 0o600);
  }

  /** Completes a new file, which replaces the old one. */
  #replace(file: number, rest: string): void {
    const { folder } = this.#options;
    writeWhole(file, rest);
    fdatasyncSync(file);
    renameSync(`${this.#path}.new`, this.#path);
    if (this.#file !== null) closeSync(this.#file);
    this.#file = file;
    this.#snapshotBytes = fstatSync(file).size;
    this.#appendedBytes = 0;
    this.#hasComplained = false;
    saveFolder(folder);
    rmSync(join(folder, INCOMPLETE_FILE), { force: true });
  }

  /** Whether the file has not been replaced by another process. */
  #isOurs(file: number): boolean {
    return statSync(this.#path).ino === fstatSync(file).ino;
  }

  /** Gives the file a name by which the next process knows that it is not complete. */
  #fail(error: unknown): void {
    const { clock, folder } = this.#options;
    const file = this.#file;
    this.#file = null;
    this.#failedAt = clock.now();
    if (file !== null) {
      try {
        if (this.#isOurs(file)) renameSync(this.#path, join(folder, INCOMPLETE_FILE));
      } catch {
        // What prevents the process from writing can also prevent it from renaming.
      }
      closeSync(file);
    }
    this.#complain(`cannot be written (${reasonOf(error)})`);
  }

  #complain(what: string): void {
    if (this.#hasComplained) return;
    this.#hasComplained = true;
    const { complain, folder } = this.#options;
    complain(
      `STATE_DIR ${folder}: ${RECORDS_FILE} ${what}. Idempotency keys are kept in memory only until it can be written again: after a restart, a retry can make a change twice.`,
    );
  }
}

/** The content of a file; `null` if nothing in it can be read. */
function parse(text: string): Recalled | null {
  // The last line of a process that was killed can be incomplete: its request was not sent.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  lines.pop();
  const head = parseHead(lines[0] ?? '');
  if (!head) return null;
  const parsed = lines.slice(1).map(parseRecordLine);
  const good = parsed.filter((line) => line !== null);
  return { head, lines: good, hasLost: good.length < parsed.length };
}

/** Lets the new name of a file survive the end of the machine. */
function saveFolder(folder: string): void {
  try {
    const file = openSync(folder, 'r');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Some systems cannot open a folder.
  }
}
