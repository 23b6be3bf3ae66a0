import type { CacheState, ConsoleState } from '../../../src/console/console-state.ts';
import { html, setText } from '../dom.ts';
import { createTable, textColumn } from '../table.ts';
import { count, counted, mebibytes, share, timePassed } from '../words.ts';

/** What is kept of each resource, how old it is, and what it spares. */
export function createCache(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<CacheState>(
    'Cache',
    'The cache is empty.',
    [
      { head: 'Resource', fill: resourceCell },
      textColumn('Fresh', 'number', ({ fresh }) => count(fresh)),
      textColumn(
        'Stale',
        'number',
        ({ stale }) => count(stale),
        ({ stale }) => (stale > 0 ? '' : 'muted'),
      ),
      textColumn('Oldest', 'number', ({ oldestMs }) =>
        oldestMs === null ? '–' : timePassed(oldestMs),
      ),
      textColumn(
        'TTL',
        'number',
        ({ ttlMs }) => timePassed(ttlMs),
        () => 'muted',
      ),
      { head: 'Hits', kind: 'number', fill: hitsCell },
      textColumn(
        'Refreshes',
        'number',
        ({ renewals }) => count(renewals),
        ({ renewals }) => (renewals > 0 ? '' : 'muted'),
      ),
    ],
    ({ resource, upstream }) => `${upstream} ${resource}`,
  );
  const size = html('span', { class: 'span' });
  section.querySelector('h2')?.append(' ', size);
  section.append(table.node);
  return ({ cache: { bytes, entries, maxBytes, resources } }) => {
    const kept = counted(entries, 'entry', 'entries');
    setText(size, `${kept}, ${mebibytes(bytes)} of ${mebibytes(maxBytes)}`);
    table.update(resources);
  };
}

function resourceCell(cell: HTMLElement): (row: CacheState) => void {
  const name = html('span');
  const hint = html('span', { class: 'hint' });
  cell.append(name, hint);
  return (row) => {
    setText(name, row.resource);
    setText(hint, row.hint ?? '');
    hint.hidden = row.hint === null;
  };
}

function hitsCell(cell: HTMLElement): (row: CacheState) => void {
  const bar = html(
    'span',
    { class: 'bar', 'aria-hidden': 'true' },
    html('span', { class: 'good' }),
  );
  const text = html('span');
  cell.append(html('span', { class: 'barred' }, bar, text));
  return ({ hits, reads }) => {
    setText(text, share(hits, reads));
    const filled = bar.firstElementChild as HTMLElement;
    filled.style.width = reads > 0 ? `${(100 * hits) / reads}%` : '0';
  };
}
