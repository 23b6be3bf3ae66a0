import type { ConsoleState } from '../../../src/console/console-state.ts';
import type { LoggedEvent } from '../../../src/observe/history/event-log.ts';
import { html, setAttribute, setText } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { timeOfDay } from '../words.ts';

/** What happened lately, the latest first. */
export function createEvents(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<LoggedEvent>(
    'Events',
    'Nothing has happened yet.',
    [
      textColumn('Time', 'number', ({ at }) => timeOfDay(at)),
      { head: 'Kind', fill: kindCell },
      textColumn('What', 'long', ({ text }) => text),
      textColumn(
        'Request',
        'text',
        ({ requestId }) => requestId ?? '–',
        ({ requestId }) => (requestId === null ? 'muted' : 'id'),
      ),
    ],
    ({ at, kind, requestId, text }) => `${at} ${kind} ${requestId} ${text}`,
  );
  section.append(table.node);
  return ({ events }) => table.update(events);
}

const kinds: Readonly<Record<LoggedEvent['kind'], { word: string; mood: string }>> = {
  refused: { word: 'refused', mood: 'bad' },
  failed: { word: 'failed', mood: 'bad' },
  'operation-failed': { word: 'operation', mood: 'warn' },
  paused: { word: 'paused', mood: 'bad' },
  reachable: { word: 'reachable', mood: 'good' },
  redis: { word: 'Redis', mood: 'warn' },
  started: { word: 'started', mood: 'good' },
  draining: { word: 'draining', mood: 'warn' },
};

function kindCell(cell: HTMLElement): (row: LoggedEvent) => void {
  const tag = html('span');
  cell.append(tag);
  return ({ kind }) => {
    setText(tag, kinds[kind].word);
    setAttribute(tag, 'class', `tag ${kinds[kind].mood}`);
  };
}
