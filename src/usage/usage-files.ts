import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { AppendedFile } from '../storage/appended-file.ts';
import { readTextFileIfThere } from '../storage/text-file.ts';
import { DayUsage } from './day-usage.ts';
import { rowIn, textOfRow, type UsageRow } from './usage-row.ts';
import { DAY_MS, KEPT_DAYS, type UsageStore } from './usage-store.ts';

const FOLDER = 'usage';
/** A day's file is larger only if it was not written by this program. */
const MOST_BYTES = 64 * 1024 * 1024;

interface UsageFilesOptions {
  /** The folder of this process alone; `null` if nothing is saved. */
  readonly folder: string | null;
  /** Whether the folder is still this process's own. */
  readonly isOwned: () => boolean;
  readonly clock: Clock;
  /** Maximum size of all files. */
  readonly maxBytes: number;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/**
 * Keeps usage in a file for each day: a line for each request, written in the turn in which it is sent, so that none is
 * lost by a sudden end of the process. Without a folder, the current day is kept in memory.
 */
export class UsageFiles implements UsageStore {
  readonly #options: UsageFilesOptions;
  readonly #path: string | null;
  #today: DayUsage;
  /** The usage of the current day before this process started. */
  readonly #before: DayUsage;
  #file: AppendedFile | null = null;
  #firstDay: number;
  #hasComplained = false;

  constructor(options: UsageFilesOptions) {
    this.#options = options;
    const { clock, folder } = options;
    this.#path = folder === null ? null : join(folder, FOLDER);
    const day = Math.floor(clock.wall() / DAY_MS);
    this.#today = new DayUsage(day);
    this.#firstDay = day;
    this.#open(day);
    this.#before = new DayUsage(day);
    for (const row of this.#today.rows) this.#before.add(row);
  }

  get firstDay(): number {
    return this.#firstDay;
  }

  callsBefore(day: number, upstream: UsageRow['upstream'], callerClass: string): number {
    return day === this.#before.day ? this.#before.callsOf(upstream, callerClass) : 0;
  }

  add(day: number, row: UsageRow): void {
    if (day > this.#today.day) {
      this.#file?.close();
      this.#today = new DayUsage(day);
      this.#open(day);
    }
    this.#today.add(row);
    this.#file?.append(textOfRow(row));
  }

  read(day: number): readonly UsageRow[] {
    if (day === this.#today.day) return this.#today.rows;
    if (this.#path === null) return [];
    const usage = new DayUsage(day);
    linesInto(usage, readTextFileIfThere(fileOf(this.#path, day), MOST_BYTES) ?? '');
    return usage.rows;
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }

  /** Continues the file of a day, or begins it, and removes those that are too old. */
  #open(day: number): void {
    if (this.#path === null) return;
    const { clock, isOwned } = this.#options;
    const path = fileOf(this.#path, day);
    const file = new AppendedFile({
      path,
      clock,
      isOwned,
      *snapshot() {
        for (const row of usage.rows) yield textOfRow(row);
      },
      // What it has is better than nothing: the next process continues it.
      setAside: () => {},
      replaced: () => {
        this.#hasComplained = false;
      },
      failed: (reason) => this.#complain(reason),
    });
    const usage = this.#today;
    this.#file = file;
    try {
      mkdirSync(this.#path, { recursive: true, mode: 0o700 });
      this.#removeOld(this.#path, day);
      const text = readTextFileIfThere(path, MOST_BYTES);
      if (text === null) file.begin();
      else file.resume(linesInto(usage, text));
    } catch (error) {
      this.#complain(reasonOf(error));
    }
  }

  /** Removes the files of days that are not kept, and the oldest ones while all are larger than the limit. */
  #removeOld(path: string, today: number): void {
    const days = readdirSync(path)
      .map(dayIn)
      .filter((day) => day !== null)
      .sort((one, other) => other - one);
    let bytes = 0;
    for (const day of days) {
      bytes += statSync(fileOf(path, day)).size;
      const isKept = day > today - KEPT_DAYS && bytes <= this.#options.maxBytes;
      if (isKept || day === today) this.#firstDay = Math.min(this.#firstDay, day);
      else rmSync(fileOf(path, day));
    }
  }

  #complain(reason: string): void {
    if (this.#hasComplained) return;
    this.#hasComplained = true;
    const { complain, folder } = this.#options;
    complain(
      `STATE_DIR ${folder}: the usage of today cannot be saved (${reason}). It is kept in memory until it can be written again.`,
    );
  }
}

/** Adds the complete lines of a file; returns their length in bytes. */
function linesInto(usage: DayUsage, text: string): number {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  for (const line of whole.split('\n')) {
    const row = rowIn(line);
    if (row) usage.add(row);
  }
  return Buffer.byteLength(whole);
}

function fileOf(path: string, day: number): string {
  return join(path, `${new Date(day * DAY_MS).toISOString().slice(0, 10)}.log`);
}

/** The day of a file; `null` for a file that is not one of a day. */
function dayIn(name: string): number | null {
  const date = /^(\d{4}-\d\d-\d\d)\.log$/.exec(name)?.[1];
  const wall = Date.parse(date ?? '');
  return Number.isNaN(wall) ? null : wall / DAY_MS;
}
