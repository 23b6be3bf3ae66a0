import { html, refill } from './dom.ts';
import type { Column } from './table.ts';

/** A caller of a state. */
export interface ShownCaller {
  /** `null` if the viewer may not know it. */
  readonly caller: string | null;
  /** Absent in the default class. */
  readonly callerClass?: string | undefined;
}

/** A caller in a sentence, with its class unless that is the default one: `crawler (agent)`. */
export function callerInWords({ caller, callerClass }: ShownCaller, unknown = '–'): string {
  const name = caller ?? unknown;
  return callerClass === undefined ? name : `${name} (${callerClass})`;
}

/** A caller in a table, with its class in a tag unless that is the default one. */
export function callerNodes(
  { caller, callerClass }: ShownCaller,
  unknown = '–',
): readonly (Node | string)[] {
  const name = caller ?? unknown;
  if (callerClass === undefined) return [name];
  const tag = html(
    'span',
    { class: 'tag caller-class', title: 'Class of the caller' },
    callerClass,
  );
  return [`${name} `, tag];
}

/** A column of callers with their classes. */
export function callersColumn<Row>(
  head: string,
  callersOf: (row: Row) => readonly ShownCaller[],
): Column<Row> {
  return {
    head,
    fill(cell) {
      const list = html('span');
      cell.append(list);
      let shown: string | null = null;
      return (row) => {
        const callers = callersOf(row);
        const words = callers.map((each) => callerInWords(each)).join(', ');
        if (shown === words) return;
        shown = words;
        const nodes = callers.flatMap((each) => [', ', ...callerNodes(each)]);
        refill(list, nodes.length > 0 ? nodes.slice(1) : ['–']);
      };
    },
  };
}

/** A column of one caller with its class. */
export function callerColumn<Row extends ShownCaller>(): Column<Row> {
  return callersColumn('Caller', (row) => [row]);
}
