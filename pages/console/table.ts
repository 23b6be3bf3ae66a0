import { type Child, html, svg } from '../dom.ts';

/** A column of a table. `number` is set to the right, `long` breaks lines. */
export type Column<Row> = readonly [
  head: string,
  kind: 'number' | 'text' | 'long',
  cell: (row: Row) => Child,
];

/** A table in a box of its own, which scrolls where the window is narrower; `empty` is said where there are no rows. */
export function table<Row>(
  name: string,
  empty: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): HTMLElement {
  if (rows.length === 0) return html('p', { class: 'empty muted' }, empty);
  const heads = columns.map(([head, kind]) => html('th', { scope: 'col', class: kind }, head));
  const body = rows.map((row) =>
    html(
      'tr',
      { 'data-key': keyOf(row) },
      columns.map(([, kind, cell]) => html('td', { class: kind }, cell(row))),
    ),
  );
  return html(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': name, tabindex: '0' },
    html('table', {}, html('thead', {}, html('tr', {}, heads)), html('tbody', {}, body)),
  );
}

/** The heading of a section, with what is said beside it. */
export function heading(title: string, beside: string, className = 'span'): HTMLElement {
  return html('h2', {}, title, ' ', beside && html('span', { class: className }, beside));
}

/** A number beside a bar; `part` is the filled part of it. */
export function barred(part: number, lane: string, text: string): HTMLElement {
  const width = 100 * Math.min(1, part);
  const bar = svg(
    'svg',
    { class: 'bar', viewBox: '0 0 100 1', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: lane, width, height: 1 }),
  );
  return html('span', { class: 'barred' }, bar, html('span', {}, text));
}
