import type { ConsoleState, JobRow } from '../../../src/console/console-state.ts';
import { callerColumn } from '../callers.ts';
import { html, setText } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { count, inTime } from '../words.ts';

/** A job, and the time of the state. */
interface Shown extends JobRow {
  readonly now: number;
}

/** Exports with their progress. Hidden if jobs are not configured. */
export function createJobs(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<Shown>(
    'Jobs',
    'No jobs. Start one with startExport in GraphQL, or with the command export.',
    [
      textColumn(
        'ID',
        'text',
        ({ id }) => id,
        () => 'id',
      ),
      textColumn(
        'Name',
        'text',
        ({ name }) => name,
        () => 'name',
      ),
      callerColumn(),
      textColumn('State', 'text', ({ state }) => state.toLowerCase(), classOf),
      { head: 'Rows', fill: rowsCell },
      textColumn('Requests', 'text', requestsInWords),
      textColumn('Ready', 'number', readyInWords),
      textColumn(
        'Failures',
        'number',
        ({ failures }) => count(failures),
        ({ failures }) => (failures > 0 ? 'bad' : 'muted'),
      ),
      textColumn('Reason', 'long', ({ error }) => error ?? ''),
    ],
    ({ id }) => id,
  );
  const sum = html('span', { class: 'sum' });
  const more = html(
    'p',
    { class: 'more muted' },
    'Administrators pause, resume and cancel jobs with pauseJob, resumeJob and cancelJob in GraphQL.',
  );
  section.querySelector('h2')?.append(' ', sum);
  section.append(table.node, more);
  return ({ at: now, jobs }) => {
    section.hidden = jobs === null;
    if (!jobs) return;
    const { open, rows, total } = jobs;
    table.update(rows.map((row) => ({ ...row, now })));
    const shown = total > rows.length ? `, ${count(rows.length)} of ${count(total)} shown` : '';
    setText(sum, open > 0 ? `${count(open)} open${shown}` : '');
    more.hidden = open === 0;
  };
}

function classOf({ state }: Shown): string {
  if (state === 'DONE') return 'tag good';
  if (state === 'FAILED') return 'tag bad';
  return state === 'PAUSED' ? 'tag warn' : 'tag';
}

function requestsInWords({ calls, callsLeft }: Shown): string {
  return callsLeft === null ? count(calls) : `${count(calls)}, about ${count(callsLeft)} left`;
}

function readyInWords({ now, readyAt }: Shown): string {
  return readyAt === null ? '–' : inTime(readyAt - now);
}

function rowsCell(cell: HTMLElement): (row: Shown) => void {
  const filled = html('span', { class: 'bulk' });
  const bar = html('span', { class: 'bar', 'aria-hidden': 'true' }, filled);
  const text = html('span');
  cell.append(html('span', { class: 'barred' }, bar, text));
  return ({ rowsDone, rowsTotal }) => {
    bar.hidden = rowsTotal === null;
    filled.style.width = rowsTotal ? `${Math.min(100, (100 * rowsDone) / rowsTotal)}%` : '0';
    setText(
      text,
      rowsTotal === null ? count(rowsDone) : `${count(rowsDone)} of ${count(rowsTotal)}`,
    );
  };
}
