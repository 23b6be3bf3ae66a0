import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../errors.ts';
import type { AtOnce } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import { AppendedFile } from '../../../storage/appended-file.ts';
import { readTextFileIfThere } from '../../../storage/text-file.ts';
import { parseHead, parseRecordLine, type RecordLine, type RecordsHead } from './record-lines.ts';

/** The name of the file, */
const RECORDS_FILE = 'writes.log';
/** ... while it lacks records, because it could not be written, */
const INCOMPLETE_FILE = 'writes.incomplete.log';
/** ... and after it was found to be damaged, for the operator. */
const DAMAGED_FILE = 'writes.damaged.log';
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
 * The file of records. While it cannot be written, it has another name, so that no process takes it for complete.
 */
export class RecordFile {
  readonly #options: RecordFileOptions;
  readonly #path: string;
  readonly #file: AppendedFile;
  #hasComplained = false;

  constructor(options: RecordFileOptions) {
    const { folder } = options;
    const incomplete = join(folder, INCOMPLETE_FILE);
    this.#options = options;
    this.#path = join(folder, RECORDS_FILE);
    this.#file = new AppendedFile({
      ...options,
      path: this.#path,
      setAside: () => renameSync(this.#path, incomplete),
      replaced: () => {
        this.#hasComplained = false;
        rmSync(incomplete, { force: true });
      },
      failed: (reason) => this.#complain(`cannot be written (${reason})`),
    });
  }

  /** Whether changes are not saved now. */
  get isFailing(): boolean {
    return this.#file.isFailing;
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
    this.#file.begin();
  }

  /** Adds a line, which survives the end of the process. */
  append(line: string): void {
    this.#file.append(line);
  }

  /** Resolves when the appended lines survive the end of the machine. */
  save(): AtOnce<void> {
    return this.#file.save();
  }

  /** Closes the file, which is complete. */
  close(): void {
    this.#file.close();
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
