import type { ConsoleState, JobRow } from '../../../src/console/console-state.ts';
import { turn } from '../ask-gateway.ts';
import { callerColumn } from '../callers.ts';
import { html, setAttribute, setText } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { count, inTime } from '../words.ts';

/** A job, the time of the state, and whether the viewer can act on it. */
interface Shown extends JobRow {
  readonly now: number;
  readonly isInHand: boolean;
}

/** What can be done to a job: the field of `Mutation`, and the words before and after it. */
const actions = {
  pause: { field: 'pauseJob', word: 'Pause', past: 'paused' },
  resume: { field: 'resumeJob', word: 'Resume', past: 'resumed' },
  cancel: { field: 'cancelJob', word: 'Cancel', past: 'canceled' },
} as const;

type Action = (typeof actions)[keyof typeof actions];

/**
 * Exports with their progress, and buttons for those who may pause, resume and cancel them. Hidden if jobs are not
 * configured.
 */
export function createJobs(section: HTMLElement): {
  update(state: ConsoleState): void;
  useToken(token: string): void;
} {
  let token = '';
  const result = html('p', { class: 'job-result', role: 'status', tabindex: -1 });
  const act = async ({ field, past }: Action, job: Shown): Promise<void> => {
    try {
      await turn(field, job.id, token);
      setText(result, `The ${titleOf(job)} was ${past}.`);
    } catch (error) {
      setText(result, `The ${titleOf(job)} was not ${past}. ${(error as Error).message}`);
    }
  };
  const table = createTable<Shown>(
    'Jobs',
    'No jobs. Start one with startExport in GraphQL, or with the command export.',
    [
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
      { head: 'Actions', fill: (cell) => actionsCell(cell, act, result) },
    ],
    ({ id }) => id,
  );
  const sum = html('span', { class: 'sum' });
  const more = html('p', { class: 'more muted' });
  section.querySelector('h2')?.append(' ', sum);
  section.append(result, table.node, more);
  return {
    update({ at: now, jobs, named }) {
      section.hidden = jobs === null;
      if (!jobs) return;
      const { open, rows, total, turnedBy } = jobs;
      const isInHand = turnedBy === 'ALL' || (turnedBy === 'TOKEN' && token !== '' && named);
      section.classList.toggle('read-only', !isInHand);
      table.update(rows.map((row) => ({ ...row, now, isInHand })));
      setText(sum, open > 0 ? `${count(open)} open` : '');
      more.hidden = total <= rows.length;
      setText(more, `and ${count(total - rows.length)} more`);
    },
    useToken(given) {
      token = given;
    },
  };
}

function titleOf({ name }: Shown): string {
  return `export of ${name}`;
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

/** The buttons of a job. If a focused one disappears, `next` receives the focus. */
function actionsCell(
  cell: HTMLElement,
  act: (action: Action, job: Shown) => Promise<void>,
  next: HTMLElement,
): (job: Shown) => void {
  let job: Shown | null = null;
  let toggles: Action = actions.pause;
  const button = (actionNow: () => Action, isMeant: () => boolean = () => true) => {
    const node = html('button', { type: 'button' });
    const press = async (): Promise<void> => {
      if (!job || node.ariaDisabled === 'true' || !isMeant()) return;
      // Unlike `disabled`, this keeps the focus.
      node.ariaDisabled = 'true';
      await act(actionNow(), job);
      node.ariaDisabled = null;
    };
    node.addEventListener('click', () => void press());
    return node;
  };
  // One button, so that the focus stays where it is.
  const toggle = button(() => toggles);
  const cancel = button(
    () => actions.cancel,
    () =>
      job !== null &&
      confirm(`Cancel the ${titleOf(job)}? It cannot be resumed; its output is kept.`),
  );
  cell.append(html('span', { class: 'job-actions' }, toggle, cancel));
  const show = (node: HTMLElement, { word }: Action, isShown: boolean, to: Shown) => {
    setText(node, word);
    setAttribute(node, 'aria-label', `${word} the ${titleOf(to)}`);
    if (!isShown && node === document.activeElement) next.focus();
    node.hidden = !isShown;
  };
  return (to) => {
    const { isInHand, state } = (job = to);
    const isActive = state === 'QUEUED' || state === 'RUNNING';
    toggles = isActive ? actions.pause : actions.resume;
    show(toggle, toggles, isInHand && (isActive || state === 'PAUSED' || state === 'FAILED'), to);
    show(cancel, actions.cancel, isInHand && (isActive || state === 'PAUSED'), to);
  };
}
