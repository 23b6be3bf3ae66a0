import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { reasonOf } from '../errors.ts';
import { type Clock, pause } from '../scheduling/clock.ts';
import {
  type Attempt,
  type Batch,
  type Engine,
  type Occupied,
  type Owner,
  type Selection,
  StoreError,
} from './engine.ts';

/** A waiting process tries to own the folder after this time, in milliseconds. */
const RETRY_MS = 20;
/** Number of values that are read at once. */
const PAGE = 256;
/** Where waiting processes, which cannot read the database, find its owner. */
const OWNER_FILE = 'owner.json';
/** There while the database has all changes: a full disk cannot prevent that it is removed. */
const COMPLETE_FILE = 'complete';

type Level = ClassicLevel<string, Buffer>;

interface LevelOptions {
  readonly folder: string;
  readonly owner: Owner;
  readonly clock: Clock;
  /** Called with one sentence if a damaged database was set aside. */
  readonly complain: (sentence: string) => void;
}

/**
 * Tries to own the database in a folder, which is made if it is missing: opening it takes the lock of the operating system,
 * which ends with the process. A damaged database is set aside under another name.
 * @throws StoreError `UNAVAILABLE`
 */
export async function openLevel(options: LevelOptions): Promise<Attempt> {
  const { complain, folder } = options;
  const opened = await open(options);
  if (opened === 'occupied') return { occupied: new OccupiedFolder(options) };
  if (opened !== 'damaged') {
    warnOfOthers(dirname(folder), complain);
    return { engine: opened };
  }
  const aside = `${folder}.damaged-${process.pid}-${process.hrtime.bigint()}`;
  renameSync(folder, aside);
  complain(`The store in ${folder} was damaged. It is now ${aside}, and a new one was made.`);
  const again = await open(options, true);
  if (typeof again !== 'string') return { engine: again };
  throw new StoreError('UNAVAILABLE', `The store in ${folder} cannot be opened.`);
}

/** Complains if users other than this process's own, and root, can read or write `STATE_DIR`. */
function warnOfOthers(stateDir: string, complain: (sentence: string) => void): void {
  // Systems without such users have no meaningful modes.
  if (!process.getuid) return;
  const { mode, uid } = statSync(stateDir);
  const isTheirs = (mode & 0o022) !== 0 || (uid !== process.getuid() && uid !== 0);
  if (!isTheirs && (mode & 0o044) === 0) return;
  const danger = isTheirs
    ? 'writable by other users, who could change the rate limit budget of the next process'
    : 'readable by other users, who could read what is saved of the account';
  complain(
    `STATE_DIR ${stateDir} is ${danger}. Run: chmod 700 ${stateDir} (or set STATE_DIR to a new folder inside it).`,
  );
}

async function open(
  { folder, owner }: LevelOptions,
  isReplacement = false,
): Promise<Engine | 'occupied' | 'damaged'> {
  let level: Level;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    level = await openDatabase(folder);
  } catch (error) {
    switch (causeOf(error)) {
      case 'LEVEL_LOCKED':
        return 'occupied';
      case 'LEVEL_CORRUPTION':
        return 'damaged';
      default:
        throw unavailable(folder, error);
    }
  }
  try {
    writeFileSync(join(folder, OWNER_FILE), JSON.stringify(owner), { mode: 0o600 });
    return new LevelEngine(folder, level, isReplacement);
  } catch (error) {
    await level.close();
    throw unavailable(folder, error);
  }
}

async function openDatabase(folder: string): Promise<Level> {
  const level: Level = new ClassicLevel(folder, { keyEncoding: 'utf8', valueEncoding: 'buffer' });
  await level.open();
  return level;
}

/** A database of this process in a folder. */
class LevelEngine implements Engine {
  readonly isDurable = true;
  readonly isShared = false;
  readonly isComplete: boolean;
  readonly isReplacement: boolean;
  readonly #folder: string;
  readonly #lock: number;
  #level: Level;
  /** Whether the folder says that the database has all changes. */
  #isMarked: boolean;

  constructor(folder: string, level: Level, isReplacement: boolean) {
    this.#folder = folder;
    this.#level = level;
    this.#lock = statSync(join(folder, 'LOCK')).ino;
    this.isComplete = existsSync(join(folder, COMPLETE_FILE));
    this.isReplacement = isReplacement;
    this.#isMarked = this.isComplete;
  }

  watch(): void {}

  async write({ cleared, values }: Batch): Promise<void> {
    await this.#checkLock();
    try {
      const batch = this.#level.batch();
      for (const { from, to } of cleared) {
        for await (const key of this.#level.keys({ gte: from, lt: to })) batch.del(key);
      }
      for (const [key, value] of values) {
        if (value === null) batch.del(key);
        else batch.put(key, value);
      }
      await batch.write({ sync: true });
      if (!this.#isMarked) writeFileSync(join(this.#folder, COMPLETE_FILE), '');
      this.#isMarked = true;
    } catch (error) {
      // Before anything is sent that is not saved.
      rmSync(join(this.#folder, COMPLETE_FILE), { force: true });
      this.#isMarked = false;
      throw unavailable(this.#folder, error);
    }
  }

  async *read({
    from,
    limit = Number.POSITIVE_INFINITY,
    reverse = false,
    to,
  }: Selection): AsyncIterable<readonly [string, Buffer]> {
    const all = this.#level.iterator({
      gte: from,
      lt: to,
      reverse,
      limit: Math.min(limit, 2 ** 31),
    });
    try {
      for (;;) {
        const page = await all.nextv(PAGE);
        if (page.length === 0) return;
        yield* page;
      }
    } catch (error) {
      throw unavailable(this.#folder, error);
    } finally {
      await all.close();
    }
  }

  /** The engine accepts no write after one that failed, until it is opened again. */
  async recover(): Promise<void> {
    await this.#checkLock();
    try {
      await this.#level.close();
      this.#level = await openDatabase(this.#folder);
    } catch (error) {
      if (causeOf(error) === 'LEVEL_LOCKED') throw lost(this.#folder);
      throw unavailable(this.#folder, error);
    }
  }

  async close(): Promise<void> {
    await this.#level.close();
  }

  /** A folder that was removed, or replaced by another, has another lock, or none: this process owns it no more. */
  async #checkLock(): Promise<void> {
    const there = await stat(join(this.#folder, 'LOCK')).catch(() => null);
    if (there?.ino !== this.#lock) throw lost(this.#folder);
  }
}

/** Another process of this machine owns the folder. */
class OccupiedFolder implements Occupied {
  readonly #options: LevelOptions;

  constructor(options: LevelOptions) {
    this.#options = options;
  }

  async owner(): Promise<Owner | null> {
    try {
      return JSON.parse(await readFile(join(this.#options.folder, OWNER_FILE), 'utf8'));
    } catch {
      return null;
    }
  }

  async own(signal: AbortSignal, usable?: () => void): Promise<Engine> {
    for (;;) {
      await pause(this.#options.clock, RETRY_MS);
      signal.throwIfAborted();
      const attempt = await openLevel(this.#options);
      if ('engine' in attempt) return attempt.engine;
      usable?.();
    }
  }

  /** Nothing can take the lock of a process that runs, or is suspended. */
  depose(): Promise<boolean> {
    return Promise.resolve(false);
  }
}

/** The code that the engine gives as the cause of a failure. */
function causeOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}

function unavailable(folder: string, error: unknown): StoreError {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return new StoreError('UNAVAILABLE', `STATE_DIR ${folder} cannot be used (${reasonOf(cause)}).`, {
    cause: error,
  });
}

function lost(folder: string): StoreError {
  return new StoreError('LOST', `STATE_DIR ${folder} was removed or replaced while it was in use.`);
}
