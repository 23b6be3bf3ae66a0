import { html, type Keyed, keyedChildren, setAttribute, setText } from './dom.ts';

/** A column of a table: its head, and how its cell is filled for a row. */
export interface Column<Row> {
  readonly head: string;
  /** `number` is set to the right, in figures of one width. */
  readonly kind?: 'number' | 'text' | 'long';
  /** Called once for each cell; what it returns is called with the row whenever that changes. */
  fill(cell: HTMLElement): (row: Row) => void;
}

/** A column of plain text. */
export function textColumn<Row>(
  head: string,
  kind: 'number' | 'text' | 'long',
  textOf: (row: Row) => string,
  classOf: (row: Row) => string = () => '',
): Column<Row> {
  return {
    head,
    kind,
    fill(cell) {
      const text = html('span');
      cell.append(text);
      return (row) => {
        setText(text, textOf(row));
        setAttribute(text, 'class', classOf(row));
      };
    },
  };
}

/** A table in a box of its own, which scrolls where the window is narrower; `empty` is said where there are no rows. */
export function createTable<Row>(
  name: string,
  empty: string,
  columns: readonly Column<Row>[],
  keyOf: (row: Row) => string,
): { node: HTMLElement; update(rows: readonly Row[]): void } {
  const body = html('tbody');
  const heads = columns.map(({ head, kind = 'text' }) =>
    html('th', { scope: 'col', class: kind }, head),
  );
  const table = html('table', {}, html('thead', {}, html('tr', {}, ...heads)), body);
  const box = html('div', { class: 'scroll', role: 'region', 'aria-label': name }, table);
  const nothing = html('p', { class: 'empty muted' }, empty);
  const show = keyedChildren(body, keyOf, () => tableRow(columns));
  // By keys it can be scrolled only while it has the focus, which would be a useless stop for the keyboard.
  const sizes = new ResizeObserver(() => {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    setAttribute(box, 'tabindex', scrolls ? 0 : null);
  });
  sizes.observe(box);
  sizes.observe(table);
  return {
    node: html('div', { class: 'table' }, box, nothing),
    update(rows) {
      box.hidden = rows.length === 0;
      nothing.hidden = rows.length > 0;
      show(rows);
    },
  };
}

function tableRow<Row>(columns: readonly Column<Row>[]): Keyed<Row> {
  const cells = columns.map(({ kind = 'text' }) => html('td', { class: kind }));
  const fills = columns.map((column, index) => column.fill(cells[index] as HTMLElement));
  return {
    node: html('tr', {}, ...cells),
    update(row) {
      for (const fill of fills) fill(row);
    },
  };
}
