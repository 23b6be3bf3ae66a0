import type { ConsoleState, OperationState } from '../../../src/console/console-state.ts';
import { html, setText } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { count, duration, share, spanInWords } from '../words.ts';

/** What operations cost, and how long they took. */
export function createOperations(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<OperationState>(
    'Operations',
    'No operations.',
    [
      textColumn(
        'Operation',
        'text',
        ({ name }) => name ?? 'unnamed',
        ({ name }) => (name === null ? 'muted' : 'name'),
      ),
      textColumn(
        'Type',
        'text',
        ({ type }) => type,
        () => 'muted',
      ),
      textColumn('Runs', 'number', ({ runs }) => count(runs)),
      textColumn('Upstream requests', 'number', ({ calls }) => count(calls)),
      textColumn('Saved', 'number', ({ calls, saved }) => share(saved, saved + calls)),
      textColumn(
        'Wait p95',
        'number',
        ({ waitP95Ms }) => duration(waitP95Ms),
        ({ waitP95Ms }) => (waitP95Ms < 1 ? 'muted' : ''),
      ),
      textColumn('Duration p95', 'number', ({ durationP95Ms }) => duration(durationP95Ms)),
      textColumn(
        'Errors',
        'number',
        ({ errors }) => count(errors),
        ({ errors }) => (errors > 0 ? 'bad' : 'muted'),
      ),
    ],
    ({ name, type }) => `${type} ${name}`,
  );
  const span = html('span', { class: 'span' });
  section.querySelector('h2')?.append(' ', span);
  section.append(table.node);
  return (state) => {
    setText(span, spanInWords(state));
    table.update(state.operations);
  };
}
