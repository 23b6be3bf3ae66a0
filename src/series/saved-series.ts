import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf, type UpstreamName } from '../errors.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';
import type { CountHistory } from '../upstream/count-history.ts';
import { CountSeries } from './count-series.ts';
import { type DailyRead, DailyReads } from './daily-reads.ts';
import { FileLock } from './file-lock.ts';
import { FollowedFile } from './followed-file.ts';
import { LINES_A_TURN, SERIES_FILE, SeriesFile } from './series-file.ts';
import { HEAD, parseLine } from './series-lines.ts';

/** How often a process that shares the folder looks at it, in milliseconds. */
const LOOK_MS = 5000;

interface CountHistoryOptions {
  /** The folder to write to; `null` if there is none. */
  readonly folder: string | null;
  /** Whether other processes use the folder too: one of them writes, the others read. */
  readonly isShared: boolean;
  readonly clock: Clock;
  /** Maximum size of the file; 0 if nothing is recorded. */
  readonly maxBytes: number;
  readonly baseUrls: Readonly<Record<UpstreamName, string>>;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** The history of counts of a gateway. */
interface SavedHistory {
  readonly history: CountHistory;
  /** Reads lists once a day, if no client does. */
  watch(reads: readonly DailyRead[]): void;
  /** Closes the file. */
  close(): void;
}

/** Makes the history of counts, with what earlier processes have saved in the folder. Never rejects. */
export async function createCountHistory(options: CountHistoryOptions): Promise<SavedHistory> {
  const { clock, complain, folder, isShared, maxBytes } = options;
  const history = new CountSeries(options);
  const watch = (reads: readonly DailyRead[]): void => {
    // One of several processes reads them.
    const isDone: CountSeries['isComplete'] = (...list) =>
      history.follows || history.isComplete(...list);
    history.watchWith(new DailyReads(clock, reads, isDone));
  };
  if (folder === null) return { history, watch, close: () => {} };
  const open = async (): Promise<SeriesFile> => {
    const snapshot = () => history.snapshot();
    const file = new SeriesFile({ folder, clock, maxBytes, snapshot, complain });
    const isOpen = await file.open((line) => history.apply(line));
    if (isOpen) history.saveIn(file);
    return file;
  };
  if (isShared) {
    const shared = new SharedFolder({ folder, clock, history, open, complain });
    await shared.look();
    return { history, watch, close: () => shared.close() };
  }
  const file = await open();
  return { history, watch, close: () => file.close() };
}

interface SharedFolderOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly history: CountSeries;
  /** Opens the file to write, after its lines were applied. */
  readonly open: () => Promise<SeriesFile>;
  readonly complain: (sentence: string) => void;
}

/** A folder of several processes: the holder of its lock records and writes, the others show what it has written. */
class SharedFolder {
  readonly #options: SharedFolderOptions;
  readonly #lock: FileLock;
  readonly #followed: FollowedFile;
  /** Present while this process holds the lock. */
  #file: SeriesFile | null = null;
  #isClosed = false;

  constructor(options: SharedFolderOptions) {
    this.#options = options;
    this.#lock = new FileLock(options.folder, options.clock);
    this.#followed = new FollowedFile(join(options.folder, SERIES_FILE));
  }

  /** Lets another process write. */
  close(): void {
    this.#isClosed = true;
    this.#file?.close();
    this.#lock.release();
  }

  /** Takes or keeps the lock, or reads what its holder has written; again every few seconds. Never rejects. */
  async look(): Promise<void> {
    const { clock, complain, folder, history, open } = this.#options;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // What was taken is held at the second look, if no other process took it too.
      const isHolder = this.#lock.hold() || this.#lock.hold();
      if (isHolder && !this.#file) {
        history.clear();
        this.#file = await open();
        history.follows = false;
      } else if (!isHolder) {
        this.#file?.close();
        this.#file = null;
        history.saveIn(null);
        history.follows = true;
        await this.#follow();
      }
    } catch (error) {
      complain(
        `STATE_DIR ${folder} cannot be used (${reasonOf(error)}). The history of counts is kept in memory only, by each process for itself. Set STATE_DIR to a folder that all processes share, or to off.`,
      );
      history.saveIn(null);
      history.follows = false;
      return;
    }
    clock.after(LOOK_MS, () => {
      if (!this.#isClosed) inBackground(this.look());
    });
  }

  /** Repeats what the holder has written. A new file has the same series as the old one. */
  #follow(): Promise<void> {
    return loopTurns.each(this.#followed.lines(), LINES_A_TURN, (text) => {
      const line = text === HEAD ? null : parseLine(text);
      if (line) this.#options.history.apply(line);
    });
  }
}
