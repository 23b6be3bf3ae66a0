import type { ConsoleState } from '../../../src/console/console-state.ts';
import type { UnknownOutcome } from '../../../src/observe/history/write-history.ts';
import { callerColumn } from '../callers.ts';
import { html } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { inTime, timeOfDay } from '../words.ts';

/** A write, and the time of the state. */
interface Shown extends UnknownOutcome {
  readonly now: number;
}

/** The last writes whose outcome was unknown. Hidden if there are none. */
export function createUnknown(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<Shown>(
    'Unknown outcomes of writes',
    'No unknown outcomes.',
    [
      textColumn('Time', 'number', ({ at }) => timeOfDay(at)),
      textColumn(
        'Mutation',
        'text',
        ({ mutation }) => mutation,
        () => 'name',
      ),
      textColumn('Now', 'long', stateInWords),
      callerColumn(),
      textColumn(
        'Request',
        'text',
        ({ requestId }) => requestId ?? '–',
        ({ requestId }) => (requestId === null ? 'muted' : 'id'),
      ),
      textColumn(
        'Key',
        'text',
        ({ key }) => key ?? 'none',
        ({ key }) => (key === null ? 'muted' : 'id'),
      ),
    ],
    ({ at, key, mutation, requestId }) => `${at} ${mutation} ${requestId} ${key}`,
  );
  section.append(table.node, html('p', { class: 'more muted' }, ADVICE));
  return ({ at: now, unknownOutcomes }) => {
    section.hidden = unknownOutcomes.length === 0;
    table.update(unknownOutcomes.map((each) => ({ ...each, now })));
  };
}

const ADVICE =
  'A retry with the same key looks for the change and sends it again only if it is absent. Without a key, check the data before a retry.';

function stateInWords({ key, later, now, settlesAt }: Shown): string {
  if (later) return `${laterWords[later.outcome]} at ${timeOfDay(later.at)}`;
  // Without a key, or after a second request, a retry does not find out.
  if (key === null || settlesAt === null) return 'unknown: check the data';
  const ms = settlesAt - now;
  return ms > 0 ? `unknown: retry ${inTime(ms)}` : 'unknown: retry with the same key';
}

const laterWords: Readonly<Record<NonNullable<UnknownOutcome['later']>['outcome'], string>> = {
  executed: 'made by a retry',
  replayed: 'known',
  reconciled: 'found by a retry',
  rejected: 'rejected at a retry',
};
