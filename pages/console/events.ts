import type { ConsoleState } from '../../src/console/console-state.ts';
import type { LoggedEvent } from '../../src/observe/history/event-log.ts';
import { type Child, html, span } from '../dom.ts';
import { count, timeOfDay } from '../words.ts';
import { callerInWords, callersInCell } from './callers.ts';
import { type Column, table } from './table.ts';

const kinds: Readonly<Record<LoggedEvent['kind'], readonly [word: string, mood: string]>> = {
  refused: ['refused', 'bad'],
  failed: ['upstream', 'bad'],
  'operation-failed': ['operation', 'warn'],
  paused: ['paused', 'bad'],
  reachable: ['recovered', 'good'],
  reconciled: ['reconciled', 'good'],
  'outcome-unknown': ['unknown', 'bad'],
  'key-reused': ['key reused', 'warn'],
  'keys-forgotten': ['keys removed', 'bad'],
  started: ['started', 'good'],
  draining: ['shutting down', 'warn'],
};

/** What happened lately, the latest first, as far as it contains what is looked for. */
export function events({ events: all }: ConsoleState, text: string): Child {
  const sought = text.trim().toLowerCase();
  const columns: Column<LoggedEvent>[] = [
    ['Time', 'number', ({ at }) => timeOfDay(at)],
    ['Kind', 'text', ({ kind: of }) => span(`tag ${kinds[of][1]}`, kinds[of][0])],
    ['Event', 'long', whatHappened],
    ['Since', 'number', ({ count: times, firstAt }) => (times > 1 ? timeOfDay(firstAt) : '–')],
    ['Callers', 'text', ({ callers }) => callersInCell(callers)],
    ['Request', 'text', (event) => requestOf(event, sought)],
  ];
  return table(
    'Events',
    'No events.',
    columns,
    all.filter((event) => isFound(event, sought)),
    ({ cause, firstAt, kind, text: what }) => `${kind} ${what} ${cause} ${firstAt}`,
  );
}

function isFound(event: LoggedEvent, sought: string): boolean {
  const callers = event.callers.map((each) => callerInWords(each));
  const texts = [whatHappened(event), kinds[event.kind][0], ...callers, ...event.requestIds];
  return texts.some((text) => text.toLowerCase().includes(sought));
}

function whatHappened({ cause, count: times, text }: LoggedEvent): string {
  const what = cause === null ? text : `${text}: ${cause}`;
  return times > 1 ? `${what} ×${count(times)}` : what;
}

/** The id that is looked for, or the latest, and how many more there are. */
function requestOf({ requestIds }: LoggedEvent, sought: string): Child {
  const [latest] = requestIds;
  if (latest === undefined) return span('muted', '–');
  const id = requestIds.find((each) => each.toLowerCase().includes(sought)) ?? latest;
  const title = requestIds.join('\n');
  const more = html('span', { class: 'muted', title }, ` +${requestIds.length - 1}`);
  return [span('id', id), requestIds.length > 1 ? more : null];
}
