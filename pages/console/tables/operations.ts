import type { ConsoleState, OperationState } from '../../../src/console/console-state.ts';
import { html } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { count, duration, share } from '../words.ts';

/** What operations cost, and how long they took. */
export function createOperations(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<OperationState>(
    'Operations',
    'No operation ran in the last hour.',
    [
      textColumn(
        'Operation',
        'text',
        ({ name }) => name ?? 'without a name',
        ({ name }) => (name === null ? 'muted' : 'name'),
      ),
      textColumn(
        'Type',
        'text',
        ({ type }) => type,
        () => 'muted',
      ),
      textColumn('Runs', 'number', ({ runs }) => count(runs)),
      textColumn('Calls', 'number', ({ calls }) => count(calls)),
      textColumn('Saved', 'number', ({ calls, saved }) => share(saved, saved + calls)),
      textColumn(
        'Wait p95',
        'number',
        ({ waitP95Ms }) => duration(waitP95Ms),
        ({ waitP95Ms }) => (waitP95Ms < 1 ? 'muted' : ''),
      ),
      textColumn('Takes p95', 'number', ({ durationP95Ms }) => duration(durationP95Ms)),
      textColumn(
        'Errors',
        'number',
        ({ errors }) => count(errors),
        ({ errors }) => (errors > 0 ? 'bad' : 'muted'),
      ),
    ],
    ({ name, type }) => `${type} ${name}`,
  );
  section.querySelector('h2')?.append(' ', html('span', { class: 'span' }, 'last hour'));
  section.append(table.node);
  return ({ operations }) => table.update(operations);
}
