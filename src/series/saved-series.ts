import type { UpstreamName } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { CountHistory } from '../upstream/count-history.ts';
import { CountSeries } from './count-series.ts';
import { type DailyRead, DailyReads } from './daily-reads.ts';
import { SeriesFile } from './series-file.ts';

interface CountHistoryOptions {
  /** The folder to write to; `null` if there is none. */
  readonly folder: string | null;
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
  const { clock, complain, folder, maxBytes } = options;
  const history = new CountSeries(options);
  const watch = (reads: readonly DailyRead[]): void => {
    history.watchWith(new DailyReads(clock, reads, (...list) => history.isComplete(...list)));
  };
  if (folder === null) return { history, watch, close: () => {} };
  const snapshot = () => history.snapshot();
  const file = new SeriesFile({ folder, clock, maxBytes, snapshot, complain });
  const isOpen = await file.open((line) => history.apply(line));
  if (isOpen) history.saveIn(file);
  return { history, watch, close: () => file.close() };
}
