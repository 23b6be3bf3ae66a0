import { closeSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../errors.ts';
import { type Clock, type Moment, momentOf } from '../../../scheduling/clock.ts';
import { openReplacement, readTextFileIfThere } from '../../../storage/text-file.ts';
import { CO_TENANT_REMEMBERED_WINDOWS } from '../law/caution.ts';
import {
  type Journal,
  type JournalEntry,
  type KeyJournal,
  noJournal,
  type Span,
} from './journal.ts';
import {
  begunLine,
  cancelledLine,
  coTenantLine,
  endedLine,
  headLine,
  type LeaseLines,
  RELEASED_LINE,
  readLeaseLines,
  type WrittenLease,
} from './lease-lines.ts';
import { isAlive, ownerName } from './owner.ts';

/** A file is rewritten after this many lines, or four for each lease that counts. */
const REWRITE_AFTER_LINES = 1024;
/** Maximum size of a file: a larger one, with more than a hundred thousand leases, was not written by this program. */
const MAX_BYTES = 64 * 1024 * 1024;
/** After a failure, the file is written again after this time, in milliseconds. */
const RETRY_MS = 60_000;
/** Allowance for times in whole milliseconds and for the drift of wall clocks. */
const MARGIN_MS = 5;

interface FileJournalOptions {
  /** The folder; made if it is missing. */
  readonly folder: string;
  readonly clock: Clock;
  /** Longest window plus longest timeout of all keys: after that time, no lease counts. */
  readonly keepMs: number;
  /** Called with one sentence: why leases cannot be saved. */
  readonly complain: (sentence: string) => void;
  /**
   * Called with one sentence: what the operator should fix although leases are saved.
   * @default `complain`
   */
  readonly warn?: (sentence: string) => void;
}

/** A lease in the file, on this process's clock. */
interface Held extends WrittenLease {
  /** Whether it belongs to the previous process. */
  readonly recalled: boolean;
}

/**
 * Opens the journal in a folder and reads the leases of the previous process. If that fails, or another process
 * uses the folder, it reports this, and continues without reading or writing.
 */
export function openJournal(options: FileJournalOptions): Journal {
  const { clock, complain, folder, warn = complain } = options;
  const without = (why: string): Journal => {
    complain(
      `STATE_DIR ${why}. Sent requests are not saved, so each start uses only half of each rate limit for one window, or until the API reports what remains.`,
    );
    return noJournal(clock.now());
  };
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const danger = dangerIn(folder);
    if (danger) {
      warn(
        `STATE_DIR ${folder} is ${danger}. Run: chmod 700 ${folder} (or set STATE_DIR to a new folder inside it).`,
      );
    }
    const before = readBefore(join(folder, FILE));
    if (before && !before.released && isAlive(before.owner)) {
      return without(`${folder} is in use by another process`);
    }
    return new FileJournal(options, before);
  } catch (error) {
    return without(`${folder} cannot be used (${reasonOf(error)})`);
  }
}

const FILE = 'leases.log';

/** The content of a file; `null` if there is none, or none that can be trusted. */
function readBefore(path: string): LeaseLines | null {
  const text = readTextFileIfThere(path, MAX_BYTES);
  return text === null ? null : readLeaseLines(text);
}

/** What users other than this process's own, and root, can do with a folder; `null` if nothing. */
function dangerIn(folder: string): string | null {
  // Systems without such users have no meaningful modes.
  if (!process.getuid) return null;
  const { mode, uid } = statSync(folder);
  if ((mode & 0o022) !== 0 || (uid !== process.getuid() && uid !== 0)) {
    return 'writable by other users, who could change the rate limit budget of the next process';
  }
  return mode & 0o044
    ? 'readable by other users, who could read what is saved of the account'
    : null;
}

/**
 * Appends a line before each request is sent and after its response has ended, so that even a killed process loses
 * none. Ages are measured with the monotonic clock, except for the gap between two processes.
 */
class FileJournal implements Journal {
  readonly #options: FileJournalOptions;
  readonly #path: string;
  readonly #owner: string;
  readonly #startedAt: number;
  /** Since when all sent requests are known; `null` if that is too long ago to matter. */
  #knownSince: number | null;
  #leases = new Map<number, Held>();
  /** When co-tenants of a key were last recorded. */
  readonly #coTenants = new Map<string, number>();
  /** Keys that the previous process has used. */
  readonly #used = new Set<string>();
  #nextId = 0;
  #lines = 0;
  #rewriteAt = 0;
  /** The open file; `null` once it is closed, or while it cannot be written. */
  #file: number | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  #hasComplained = false;
  #isClosed = false;

  constructor(options: FileJournalOptions, before: LeaseLines | null) {
    this.#options = options;
    this.#path = join(options.folder, FILE);
    this.#startedAt = options.clock.now();
    this.#owner = `${ownerName()}/${Math.round(options.clock.wall())}`;
    this.#knownSince = this.#startedAt;
    if (before) this.#carryOver(before);
    this.#rewrite();
  }

  of(key: string, { windowMs, timeoutMs }: Span): KeyJournal {
    const recalled = [...this.#leases.values()]
      .filter((lease) => lease.recalled && lease.key === key)
      .map((lease) => this.#endOf(lease, timeoutMs) + windowMs + MARGIN_MS);
    const now = this.#options.clock.now();
    const unknownUntil = (this.#knownSince ?? Number.NEGATIVE_INFINITY) + windowMs;
    return {
      recalled: recalled.filter((until) => until > now),
      unknownUntil,
      isKnown: this.#used.has(key) && unknownUntil <= now,
      coTenantSeenAt: this.#coTenants.get(key) ?? null,
      begin: (lengthy) => this.#begin(key, lengthy),
      coTenantSeen: () => this.#noteCoTenant(key, windowMs),
    };
  }

  get folder(): string | null {
    return this.#file === null ? null : this.#options.folder;
  }

  close(): void {
    if (this.#file !== null) this.#append(RELEASED_LINE);
    this.#isClosed = true;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #begin(key: string, lengthy: boolean): JournalEntry {
    const moment = momentOf(this.#options.clock);
    const lease: Held = { key, lengthy, begunAt: moment.now, endedAt: null, recalled: false };
    const id = this.#add(lease);
    this.#append(begunLine(id, lease, moment));
    return {
      ended: () => {
        const ended = momentOf(this.#options.clock);
        this.#leases.set(id, { ...lease, endedAt: ended.now });
        this.#append(endedLine(id, ended));
      },
      cancelled: () => {
        this.#leases.delete(id);
        this.#append(cancelledLine(id));
      },
    };
  }

  /** Records that a co-tenant was seen, once per window; the record is kept for several windows. */
  #noteCoTenant(key: string, windowMs: number): void {
    const moment = momentOf(this.#options.clock);
    if (moment.now - (this.#coTenants.get(key) ?? Number.NEGATIVE_INFINITY) < windowMs) return;
    this.#coTenants.set(key, moment.now);
    this.#append(coTenantLine(key, moment));
  }

  #add(lease: Held): number {
    this.#nextId += 1;
    this.#leases.set(this.#nextId, lease);
    return this.#nextId;
  }

  /** When a lease's response ended, at the latest. */
  #endOf({ begunAt, endedAt, lengthy }: Held, timeoutMs: number): number {
    return endedAt ?? (lengthy ? this.#startedAt : begunAt + timeoutMs);
  }

  /** Converts the leases of the previous process to this process's clock. */
  #carryOver({ coTenants, knownSince, last, leases }: LeaseLines): void {
    const { now, wall } = momentOf(this.#options.clock);
    // A wall clock that was set back must not free slots: then no time is assumed to have passed.
    const here = now - Math.max(0, wall - last.wall) - last.now;
    this.#knownSince = knownSince === null ? null : knownSince + here;
    for (const lease of leases) {
      const begunAt = lease.begunAt + here;
      const endedAt = lease.endedAt === null ? null : lease.endedAt + here;
      this.#add({ ...lease, begunAt, endedAt, recalled: true });
      this.#used.add(lease.key);
    }
    for (const [key, seenAt] of coTenants) this.#coTenants.set(key, seenAt + here);
  }

  /** Adds a line for a lease or a co-tenant that is known here already. */
  #append(line: string): void {
    if (this.#isClosed) return;
    try {
      if (this.#file === null) {
        this.#reopen();
        return;
      }
      writeFileSync(this.#file, line);
      this.#lines += 1;
      if (this.#lines >= this.#rewriteAt) this.#rewrite();
    } catch (error) {
      this.#giveUp(reasonOf(error));
    }
  }

  /** Writes the file again some time after a failure, unless another process has used the folder since. */
  #reopen(): void {
    if (this.#options.clock.now() - this.#failedAt < RETRY_MS) return;
    const before = readBefore(this.#path);
    if (before && before.owner !== this.#owner) throw new Error('another process uses it');
    this.#rewrite();
    this.#hasComplained = false;
  }

  /** Writes the leases that count into a new file, which replaces the old one. */
  #rewrite(): void {
    const { keepMs } = this.#options;
    const { now, wall } = momentOf(this.#options.clock);
    if (this.#file !== null && readBefore(this.#path)?.owner !== this.#owner) {
      throw new Error('another process uses it');
    }
    const at = (then: number): Moment => ({ now: then, wall: wall - (now - then) });
    if (this.#knownSince !== null && this.#knownSince + keepMs <= now) this.#knownSince = null;
    let text = headLine(this.#owner, this.#knownSince, { now, wall });
    for (const [id, lease] of this.#leases) {
      const unanswered = lease.endedAt === null && !lease.recalled;
      if (!unanswered && this.#endOf(lease, 0) + keepMs + MARGIN_MS <= now) {
        this.#leases.delete(id);
        continue;
      }
      text += begunLine(id, lease, at(lease.begunAt));
      if (lease.endedAt !== null) text += endedLine(id, at(lease.endedAt));
    }
    for (const [key, seenAt] of this.#coTenants) {
      if (seenAt + CO_TENANT_REMEMBERED_WINDOWS * keepMs <= now) this.#coTenants.delete(key);
      else text += coTenantLine(key, at(seenAt));
    }
    const file = openReplacement(this.#path, text);
    if (this.#file !== null) closeSync(this.#file);
    this.#file = file;
    this.#lines = 0;
    this.#rewriteAt = Math.max(REWRITE_AFTER_LINES, 4 * (this.#leases.size + this.#coTenants.size));
  }

  /** Removes the file until it can be written again: it would lack later requests, and the next process would trust it. */
  #giveUp(why: string): void {
    const { complain, folder } = this.#options;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
    this.#failedAt = this.#options.clock.now();
    try {
      if (readBefore(this.#path)?.owner === this.#owner) rmSync(this.#path);
    } catch {
      // What prevents the process from writing also prevents it from deleting.
    }
    if (this.#hasComplained) return;
    this.#hasComplained = true;
    complain(
      `STATE_DIR ${folder} is no longer writable (${why}). Sent requests are not saved until it can be written again. Without them, the next start uses only half of each rate limit for one window, or until the API reports what remains.`,
    );
  }
}
