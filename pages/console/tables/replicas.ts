import type { ConsoleState } from '../../../src/console/console-state.ts';
import type { Member } from '../../../src/upstream/budget/shared/shared-budgets.ts';
import { createTable, textColumn } from '../table.ts';
import { count, timePassed } from '../words.ts';

/** The processes that share the budgets; not there where this one is alone. */
export function createReplicas(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<Member>(
    'Replicas',
    'No replicas.',
    [
      textColumn(
        'Name',
        'text',
        ({ name, self }) => (self ? `${name} (this one)` : name),
        () => 'name',
      ),
      textColumn('Last sent', 'number', ({ sentMsAgo }) =>
        sentMsAgo === null ? 'never' : `${timePassed(sentMsAgo)} ago`,
      ),
      textColumn('Waiting', 'number', ({ queued }) => count(queued)),
    ],
    ({ name }) => name,
  );
  section.append(table.node);
  return ({ replicas }) => {
    section.hidden = replicas === null;
    table.update(replicas ?? []);
  };
}
