import { DEFAULT_CLASS } from '../../../auth/caller-class.ts';

/*
 * In a budget, a caller is named together with its class, in one text: equal names in two classes are two callers. In
 * the default class it is the plain name.
 */

/** Not in the name of a class. */
const SEPARATOR = '\n';

/** The name of a caller of a class in a budget. */
export function callerInClass(name: string, callerClass = DEFAULT_CLASS): string {
  if (callerClass !== DEFAULT_CLASS) return `${callerClass}${SEPARATOR}${name}`;
  return name.includes(SEPARATOR) ? `${SEPARATOR}${name}` : name;
}

/** The class of a caller, by its name in a budget. */
export function classOf(caller: string): string {
  const end = caller.indexOf(SEPARATOR);
  return end > 0 ? caller.slice(0, end) : DEFAULT_CLASS;
}

/** The name of a caller without its class. */
export function nameWithoutClass(caller: string): string {
  return caller.slice(caller.indexOf(SEPARATOR) + 1);
}
