import { join } from 'node:path';
import { reasonOf } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { readTextFileIfThere, replaceTextFile } from '../../storage/text-file.ts';
import { type Past, type SavedPast, type Start, savedCounters } from './past.ts';
import { STEPS } from './steps.ts';

const FILE = 'history.json';
/** Of the file's format. */
const FORMAT = 1;
/** An hour takes a tenth of it at most. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Interval between two writes, in milliseconds. */
const WRITE_MS = 60_000;
const LONGEST_VERSION = 64;
const MOST_STARTS = 20;

interface HistoryFileOptions {
  /** The folder that this process may write to; `null` while there is none. */
  readonly folder: () => string | null;
  readonly clock: Clock;
  readonly past: Past;
  /** Called before the past is written, so that it is complete. */
  readonly look: () => void;
  /** Called with one sentence: why the history cannot be saved. */
  readonly complain: (sentence: string) => void;
}

/**
 * Saves the history of the console across restarts, in a file next to the journal: it reads the file of the previous
 * process, and writes once a minute and at shutdown. Failures are only logged, because the history is only for display.
 */
export class HistoryFile {
  readonly #options: HistoryFileOptions;
  #hasComplained = false;
  #isClosed = false;

  constructor(options: HistoryFileOptions) {
    this.#options = options;
    if (options.folder() === null) return;
    this.#read();
    this.#writeLater();
  }

  /** Writes for the last time. */
  close(): void {
    if (!this.#isClosed) this.#write();
    this.#isClosed = true;
  }

  #read(): void {
    const { complain, folder, past } = this.#options;
    const from = folder();
    if (from === null) return;
    try {
      const text = readTextFileIfThere(join(from, FILE), MAX_BYTES);
      if (text !== null) past.restore(savedPastOf(JSON.parse(text)));
    } catch (error) {
      complain(
        `STATE_DIR ${from}: ${FILE} cannot be used (${error instanceof SyntaxError ? 'damaged' : reasonOf(error)}). The console starts without the history of the last hour.`,
      );
    }
  }

  #writeLater(): void {
    this.#options.clock.after(WRITE_MS, () => {
      if (this.#isClosed) return;
      this.#write();
      this.#writeLater();
    });
  }

  #write(): void {
    const { complain, folder, look, past } = this.#options;
    const to = folder();
    if (to === null) return;
    try {
      look();
      replaceTextFile(join(to, FILE), JSON.stringify({ format: FORMAT, ...past.saved }));
      this.#hasComplained = false;
    } catch (error) {
      if (this.#hasComplained) return;
      this.#hasComplained = true;
      complain(
        `STATE_DIR ${to}: ${FILE} cannot be written (${reasonOf(error)}). The history of the console will be lost at the next restart.`,
      );
    }
  }
}

/** Parses a file. @throws TypeError if it has another format. */
function savedPastOf(value: unknown): SavedPast {
  const { at, format, lastStepAt, operations, sends, starts } = membersOf(value);
  if (format !== FORMAT) throw damaged();
  const { LINKS, MARKET } = membersOf(sends);
  if (!Array.isArray(starts) || starts.length > MOST_STARTS) throw damaged();
  return {
    at: momentOf(at),
    lastStepAt: momentOf(lastStepAt),
    starts: starts.map(startOf),
    sends: {
      LINKS: columnsOf(LINKS, savedCounters.sends),
      MARKET: columnsOf(MARKET, savedCounters.sends),
    },
    operations: columnsOf(operations, savedCounters.operations),
  };
}

function startOf(value: unknown): Start {
  const { at, downSince, version } = membersOf(value);
  if (typeof version !== 'string') throw damaged();
  return {
    at: momentOf(at),
    downSince: downSince === null ? null : momentOf(downSince),
    version: version.slice(0, LONGEST_VERSION),
  };
}

function columnsOf<Name extends string>(
  value: unknown,
  names: readonly Name[],
): Record<Name, number[]> {
  const members = membersOf(value);
  const first = members[names[0] ?? ''];
  const columns = names.map((name) => {
    // A process of an older version has counted less.
    const column = members[name] ?? (Array.isArray(first) ? first.map(() => 0) : undefined);
    if (!Array.isArray(column) || column.length > STEPS || !column.every(isCount)) throw damaged();
    return [name, column as number[]] as const;
  });
  if (new Set(columns.map(([, { length }]) => length)).size > 1) throw damaged();
  return Object.fromEntries(columns) as Record<Name, number[]>;
}

function membersOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw damaged();
  return value as Record<string, unknown>;
}

function momentOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw damaged();
  return value;
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 32;
}

function damaged(): TypeError {
  return new TypeError('damaged');
}
