import type { ConsoleState, SpenderState } from '../../../src/console/console-state.ts';
import { html, setText } from '../dom.ts';
import { ownerLabel } from '../lanes.ts';
import { createTable, textColumn } from '../table.ts';
import { count, share } from '../words.ts';

/** A spender with what all have spent. */
interface Spender extends SpenderState {
  readonly all: number;
  readonly most: number;
}

/** Who spent the requests of the last hour, and on what. */
export function createSpenders(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<Spender>(
    'Who spends',
    'Nothing was sent in the last hour.',
    [
      { head: 'Who', fill: whoCell },
      { head: 'Requests', kind: 'number', fill: sendsCell },
      textColumn('Share', 'number', ({ all, sends }) => share(sends, all)),
      textColumn('On', 'long', spentOn),
    ],
    ({ kind, name }) => `${kind} ${name}`,
  );
  const unnamed = html(
    'p',
    { class: 'more muted' },
    'Names are shown to viewers on the gateway’s own machine and to admins: give a token above.',
  );
  section.querySelector('h2')?.append(' ', html('span', { class: 'span' }, 'last hour'));
  section.append(table.node, unnamed);
  return ({ named, spenders }) => {
    const all = spenders.reduce((sum, { sends }) => sum + sends, 0);
    const most = Math.max(1, ...spenders.map(({ sends }) => sends));
    table.update(spenders.map((spender) => ({ ...spender, all, most })));
    unnamed.hidden = named;
  };
}

function whoCell(cell: HTMLElement): (row: Spender) => void {
  const label = html('span', { class: 'owner' });
  cell.append(label);
  const refreshes = ownerLabel(label, 'Refreshes');
  const foreign = ownerLabel(label, 'Co-tenants');
  return ({ kind, name }) => {
    if (kind === 'refreshes') refreshes('refresh');
    else if (kind === 'foreign') foreign('co-tenant');
    else setText(label, name ?? 'without a name');
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
