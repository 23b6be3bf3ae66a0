import { hash, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { reasonOf } from '../../errors.ts';
import { readTextFileIfThere, replaceTextFile } from '../../storage/text-file.ts';
import { CommandError, UsageError } from '../faults.ts';
import type { ExportRequest } from './options.ts';

/** The job of an output file, which a later run of the command continues. */
interface StartedJob {
  readonly version: 1;
  /** The idempotency key with which it is started. */
  readonly key: string;
  /** Digest of its input. */
  readonly input: string;
  /** The ID of the job; `null` if it is unknown whether the gateway has started it. */
  readonly id: string | null;
}

const MAX_BYTES = 64 * 1024;

/**
 * Where the job of an output file is kept while the file is incomplete: in a file beside it with `.job` at the end of
 * its name. In memory without an output file.
 */
export class JobNote {
  readonly #file: string | null;
  #job: StartedJob;

  /**
   * Reads the note of an earlier run, or makes a new one.
   * @throws UsageError if it is of another export, CommandError if it cannot be read or written.
   */
  constructor(output: string | null, request: ExportRequest) {
    this.#file = output === null ? null : `${output}.job`;
    const input = hash('sha256', JSON.stringify(request));
    const noted = this.#file === null ? null : read(this.#file);
    if (noted && noted.input !== input) {
      throw new UsageError(
        `${output} is the incomplete output of another export. Finish that one, or delete ${this.#file}.`,
      );
    }
    this.#job = noted ?? { version: 1, key: randomUUID(), input, id: null };
    if (!noted) this.#write();
  }

  get job(): StartedJob {
    return this.#job;
  }

  /** @throws CommandError if it cannot be written. */
  started(id: string): void {
    this.#job = { ...this.#job, id };
    this.#write();
  }

  /** The next run starts another job. */
  remove(): void {
    if (this.#file !== null) rmSync(this.#file, { force: true });
  }

  #write(): void {
    if (this.#file === null) return;
    try {
      replaceTextFile(this.#file, `${JSON.stringify(this.#job)}\n`);
    } catch (error) {
      throw new CommandError(`${this.#file} cannot be written (${reasonOf(error)}).`);
    }
  }
}

function read(file: string): StartedJob | null {
  try {
    const text = readTextFileIfThere(file, MAX_BYTES);
    if (text === null) return null;
    const job = JSON.parse(text) as StartedJob | null;
    if (job?.version === 1) return job;
    throw new TypeError('it has another version');
  } catch (error) {
    throw new CommandError(
      `${file} cannot be read (${reasonOf(error)}). Delete it to start the export again.`,
    );
  }
}
