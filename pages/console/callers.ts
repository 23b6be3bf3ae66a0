import { type Child, html } from '../dom.ts';

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

/** Callers in a table, with their classes in tags unless that is the default one. */
export function callersInCell(callers: readonly ShownCaller[], unknown = '–'): Child {
  if (callers.length === 0) return '–';
  return callers.map(({ caller, callerClass }, index) => {
    const name = (index > 0 ? ', ' : '') + (caller ?? unknown);
    if (callerClass === undefined) return name;
    const tag = { class: 'tag caller-class', title: 'Class of the caller' };
    return [`${name} `, html('span', tag, callerClass)];
  });
}
