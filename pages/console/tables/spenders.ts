import type { ConsoleState, SpenderState } from '../../../src/console/console-state.ts';
import { callerNodes } from '../callers.ts';
import { html, setText } from '../dom.ts';
import { ownerLabel } from '../lanes.ts';
import { createTable, textColumn } from '../table.ts';
import { count, share, spanInWords } from '../words.ts';

/** A spender with what all have spent. */
interface Spender extends SpenderState {
  readonly all: number;
  readonly most: number;
  /** Whether other processes count among those who are not known. */
  readonly hasReplicas: boolean;
}

/** Who spent the requests of the last hour in this process, and on what. */
export function createSpenders(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<Spender>(
    'Requests by caller',
    'No requests sent.',
    [
      { head: 'Caller', fill: whoCell },
      { head: 'Requests', kind: 'number', fill: sendsCell },
      textColumn('Share', 'number', ({ all, sends }) => share(sends, all)),
      textColumn('Resources', 'long', spentOn),
    ],
    ({ callerClass, kind, name }) => `${kind} ${callerClass} ${name}`,
  );
  const unnamed = html(
    'p',
    { class: 'more muted' },
    'Caller names are shown on the gateway’s machine, and after you enter an admin token above.',
  );
  const span = html('span', { class: 'span' });
  section.querySelector('h2')?.append(' ', span);
  section.append(table.node, unnamed);
  return (state) => {
    const { named, replicas, spenders } = state;
    setText(span, spanInWords(state));
    const all = spenders.reduce((sum, { sends }) => sum + sends, 0);
    const most = Math.max(1, ...spenders.map(({ sends }) => sends));
    table.update(spenders.map((each) => ({ ...each, all, most, hasReplicas: replicas !== null })));
    unnamed.hidden = named;
  };
}

function whoCell(cell: HTMLElement): (row: Spender) => void {
  const label = html('span', { class: 'owner' });
  cell.append(label);
  const refreshes = ownerLabel(label, 'Refreshes');
  const foreign = ownerLabel(label, 'Co-tenants');
  const elsewhere = ownerLabel(label, 'Other replicas and co-tenants');
  let isNamed = false;
  return ({ callerClass, hasReplicas, kind, name }) => {
    if (kind === 'refreshes') refreshes('refresh');
    else if (kind === 'foreign') (hasReplicas ? elsewhere : foreign)('co-tenant');
    else if (!isNamed) {
      // The row of another caller is another one.
      isNamed = true;
      label.append(html('span', {}, ...callerNodes({ caller: name, callerClass }, 'unnamed')));
    }
  };
}

function sendsCell(cell: HTMLElement): (row: Spender) => void {
  const bar = html('span', { class: 'bar', 'aria-hidden': 'true' }, html('span'));
  const number = html('span');
  cell.append(html('span', { class: 'barred' }, bar, number));
  return ({ kind, most, sends }) => {
    setText(number, count(sends));
    const filled = bar.firstElementChild as HTMLElement;
    filled.className = kind === 'caller' ? '' : kind === 'refreshes' ? 'refresh' : 'co-tenant';
    filled.style.width = `${(100 * sends) / most}%`;
  };
}

function spentOn({ resources, sends }: Spender): string {
  const parts = resources.map((each) => `${each.resource} ${count(each.sends)}`);
  const rest = sends - resources.reduce((sum, each) => sum + each.sends, 0);
  if (parts.length > 0 && rest > 0) parts.push(`others ${count(rest)}`);
  return parts.join(', ') || '–';
}
