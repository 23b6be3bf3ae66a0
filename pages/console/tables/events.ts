import type { ConsoleState } from '../../../src/console/console-state.ts';
import type { LoggedEvent } from '../../../src/observe/history/event-log.ts';
import { callerInWords, callersColumn } from '../callers.ts';
import { html, setAttribute, setText } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { count, timeOfDay } from '../words.ts';

/** An event, with what is looked for among its request ids. */
interface Found extends LoggedEvent {
  readonly sought: string;
}

/** What happened lately, the latest first, and what is looked for among it. */
export function createEvents(section: HTMLElement): (state: ConsoleState) => void {
  const field = html('input', {
    type: 'search',
    placeholder: 'Request id, caller, class or code',
    'aria-label': 'Search events',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const table = createTable<Found>(
    'Events',
    'No events.',
    [
      textColumn('Time', 'number', ({ at }) => timeOfDay(at)),
      { head: 'Kind', fill: kindCell },
      textColumn('Event', 'long', whatHappened),
      textColumn('Since', 'number', ({ count: times, firstAt }) =>
        times > 1 ? timeOfDay(firstAt) : '–',
      ),
      callersColumn('Callers', ({ callers }) => callers),
      { head: 'Request', fill: requestCell },
    ],
    ({ cause, firstAt, kind, text }) => `${kind} ${text} ${cause} ${firstAt}`,
  );
  section.querySelector('h2')?.after(field);
  section.append(table.node);
  let latest: readonly LoggedEvent[] = [];
  const show = (): void => {
    const sought = field.value.trim().toLowerCase();
    const found = latest.filter((event) => isFound(event, sought));
    table.update(found.map((event) => ({ ...event, sought })));
  };
  field.addEventListener('input', show);
  return ({ events }) => {
    latest = events;
    show();
  };
}

function isFound(event: LoggedEvent, sought: string): boolean {
  const { requestIds } = event;
  const callers = event.callers.map((each) => callerInWords(each));
  const texts = [whatHappened(event), kinds[event.kind].word, ...callers, ...requestIds];
  return texts.some((text) => text.toLowerCase().includes(sought));
}

function whatHappened({ cause, count: times, text }: LoggedEvent): string {
  const what = cause === null ? text : `${text}: ${cause}`;
  return times > 1 ? `${what} ×${count(times)}` : what;
}

/** The id that is looked for, or the latest, and how many more there are. */
function requestCell(cell: HTMLElement): (row: Found) => void {
  const id = html('span');
  const more = html('span', { class: 'muted' });
  cell.append(id, ' ', more);
  return ({ requestIds, sought }) => {
    const matching = requestIds.find((each) => each.toLowerCase().includes(sought));
    setText(id, matching ?? requestIds[0] ?? '–');
    setAttribute(id, 'class', requestIds.length > 0 ? 'id' : 'muted');
    setText(more, requestIds.length > 1 ? `+${requestIds.length - 1}` : '');
    setAttribute(more, 'title', requestIds.length > 1 ? requestIds.join('\n') : null);
  };
}

const kinds: Readonly<Record<LoggedEvent['kind'], { word: string; mood: string }>> = {
  refused: { word: 'refused', mood: 'bad' },
  failed: { word: 'upstream', mood: 'bad' },
  'operation-failed': { word: 'operation', mood: 'warn' },
  paused: { word: 'paused', mood: 'bad' },
  reachable: { word: 'recovered', mood: 'good' },
  reconciled: { word: 'reconciled', mood: 'good' },
  'outcome-unknown': { word: 'unknown', mood: 'bad' },
  'key-reused': { word: 'key reused', mood: 'warn' },
  'keys-forgotten': { word: 'keys removed', mood: 'bad' },
  redis: { word: 'Redis', mood: 'warn' },
  started: { word: 'started', mood: 'good' },
  draining: { word: 'shutting down', mood: 'warn' },
};

function kindCell(cell: HTMLElement): (row: LoggedEvent) => void {
  const tag = html('span');
  cell.append(tag);
  return ({ kind }) => {
    setText(tag, kinds[kind].word);
    setAttribute(tag, 'class', `tag ${kinds[kind].mood}`);
  };
}
