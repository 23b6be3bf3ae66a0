import type { ClassState, ConsoleState } from '../../../src/console/console-state.ts';
import { html, type Keyed, keyedChildren, setAttribute, setText } from '../dom.ts';
import { headingOf } from '../failures.ts';
import { createTable, textColumn } from '../table.ts';
import { count, inTime, share, spanInWords, timePassed } from '../words.ts';

/** A class, the requests of all classes, and the upstreams that its limits are for. */
interface Shown extends ClassState, Pick<ConsoleState, 'upstreams'> {
  readonly all: number;
}

/** What is used of the limits of a class for one upstream. */
interface Line {
  readonly upstream: string;
  readonly text: string;
  readonly isUsedUp: boolean;
}

/** The classes of callers: what they sent, and what is used of their limits. Hidden if none is configured. */
export function createClasses(section: HTMLElement): (state: ConsoleState) => void {
  const table = createTable<Shown>(
    'Classes',
    '',
    [
      textColumn(
        'Class',
        'text',
        ({ name }) => name,
        () => 'name',
      ),
      textColumn('Weight', 'number', ({ weight }) => count(weight)),
      textColumn('Requests', 'number', ({ sends }) => count(sends)),
      textColumn('Share', 'number', ({ all, sends }) => share(sends, all)),
      textColumn(
        'Waiting',
        'number',
        ({ waiting }) => count(waiting),
        ({ waiting }) => (waiting > 0 ? '' : 'muted'),
      ),
      { head: 'Limits', kind: 'long', fill: limitsCell },
    ],
    ({ name }) => name,
  );
  const span = html('span', { class: 'span' });
  section.querySelector('h2')?.append(' ', span);
  section.append(table.node);
  return (state) => {
    const { classes, upstreams } = state;
    section.hidden = classes.length === 0;
    setText(span, spanInWords(state));
    const all = classes.reduce((sum, { sends }) => sum + sends, 0);
    table.update(classes.map((each) => ({ ...each, all, upstreams })));
  };
}

function limitsCell(cell: HTMLElement): (row: Shown) => void {
  const lines = html('div');
  const none = html('span', { class: 'muted' }, 'none');
  cell.append(lines, none);
  const show = keyedChildren(lines, ({ upstream }: Line) => upstream, lineNode);
  return (row) => {
    show(linesOf(row));
    none.hidden = row.quotas.length > 0;
  };
}

function lineNode(): Keyed<Line> {
  const node = html('p');
  return {
    node,
    update({ isUsedUp, text }) {
      setText(node, text);
      setAttribute(node, 'class', isUsedUp ? 'bad' : null);
    },
  };
}

function linesOf({ quotas, upstreams }: Shown): Line[] {
  return upstreams.flatMap(({ title, upstream, windowMs }) => {
    const own = quotas.filter((quota) => quota.upstream === upstream);
    const parts = own.map(({ limit, nextInMs, used, window }) => {
      const interval =
        window === 'DAY' ? 'day' : windowMs === 60_000 ? 'minute' : timePassed(windowMs);
      const next = nextInMs > 0 && limit > 0 ? ` (next ${inTime(nextInMs)})` : '';
      return `${count(used)} of ${count(limit)} per ${interval}${next}`;
    });
    const isUsedUp = own.some(({ limit, used }) => limit > 0 && used >= limit);
    const text = `${headingOf(title)}: ${parts.join(', ')}`;
    return own.length > 0 ? [{ upstream, text, isUsedUp }] : [];
  });
}
