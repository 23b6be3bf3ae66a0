import type { Clock } from '../../scheduling/clock.ts';
import { visibleText } from '../../visible-text.ts';
import type { RemoteJob } from './gateway-client.ts';

/** Between two lines where the line cannot be replaced, in milliseconds. */
const EVERY_MS = 10_000;

/** The progress of a job, on standard error: one line that is replaced, or a line for each change. */
export class JobProgressLine {
  readonly #clock: Clock;
  /** Whether the line is replaced. */
  readonly #isReplaced: boolean;
  #shown = '';
  #shownAt = Number.NEGATIVE_INFINITY;

  /** The line is not replaced if the rows are written to a terminal, too. */
  constructor(clock: Clock, rowsToTerminal: boolean) {
    this.#clock = clock;
    this.#isReplaced = process.stderr.isTTY && !rowsToTerminal;
  }

  /**
   * Shows a text if it has changed; where the line is not replaced, not more than one in ten seconds unless it is
   * urgent.
   */
  show(words: string, isUrgent = false): void {
    const text = visibleText(words);
    if (text === this.#shown) return;
    if (this.#isReplaced) {
      // A line that is broken into two could not be replaced. Some terminals do not tell their width.
      process.stderr.write(`\r\x1b[K${text.slice(0, (process.stderr.columns || 80) - 1)}`);
    } else {
      if (!isUrgent && this.#clock.now() < this.#shownAt + EVERY_MS) return;
      process.stderr.write(`${text}\n`);
    }
    this.#shown = text;
    this.#shownAt = this.#clock.now();
  }

  /** Removes a line that is replaced. */
  end(): void {
    if (this.#isReplaced && this.#shown !== '') process.stderr.write('\r\x1b[K');
    this.#shown = '';
  }
}

/** How far a job is, as one line. */
export function progressText(job: RemoteJob): string {
  const { callsSpent, error, readyAt, rowsDone, rowsTotal, state } = job;
  const rows = rowsTotal === null ? `${rowsDone} rows` : `${rowsDone} of ${rowsTotal} rows`;
  const parts = [rows, callsSpent === 1 ? '1 call' : `${callsSpent} calls`];
  if (readyAt !== null) parts.push(`ready at ${readyAt.replace(/\.\d+Z$/, 'Z')}`);
  if (state === 'QUEUED' || state === 'PAUSED') parts.push(state.toLowerCase());
  return parts.join(', ') + (error ? `: ${error.message}` : '');
}
