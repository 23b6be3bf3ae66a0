import type { ConsoleState, WaitingState } from '../../../src/console/console-state.ts';
import { callerColumn } from '../callers.ts';
import { html, setText } from '../dom.ts';
import { ownerLabel } from '../lanes.ts';
import { createTable, textColumn } from '../table.ts';
import { count, inTime, timePassed } from '../words.ts';

/** Which requests wait for a slot, and when each is sent. */
export function createWaiting(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<WaitingState>(
    'Waiting now',
    'No waiting requests.',
    [
      textColumn('Starts', 'number', leaves),
      { head: 'Lane', fill: laneCell },
      textColumn('Resource', 'text', ({ resource }) => resource),
      textColumn(
        'Operation',
        'text',
        ({ lane, operation }) => operation ?? (lane === 'refresh' ? '–' : 'unnamed'),
        ({ operation }) => (operation === null ? 'muted' : 'name'),
      ),
      callerColumn(),
      textColumn('Waited', 'number', ({ waitedMs }) => timePassed(waitedMs)),
    ],
    ({ caller, callerClass, lane, operation, resource, upstream }) =>
      [upstream, lane, resource, operation, callerClass, caller].join(' '),
  );
  const more = html('p', { class: 'more muted' });
  const sum = html('span', { class: 'sum' });
  section.querySelector('h2')?.append(' ', sum);
  section.append(table.node, more);
  return ({ waiting, waitingCount }) => {
    table.update(waiting);
    setText(sum, waitingCount > 0 ? String(waitingCount) : '');
    const others = waitingCount - waiting.length;
    more.hidden = others <= 0;
    setText(more, `and ${count(others)} more`);
  };
}

/** Refreshes and jobs give way to other requests, so that their times are not known. */
function leaves({ fails, leavesInMs }: WaitingState): string {
  if (leavesInMs === null) return 'when idle';
  return fails ? `fails ${inTime(leavesInMs)}` : inTime(leavesInMs);
}

function laneCell(cell: HTMLElement): (row: WaitingState) => void {
  const label = html('span', { class: 'owner' });
  cell.append(label);
  const show = ownerLabel(label);
  return ({ lane }) => show(lane);
}
