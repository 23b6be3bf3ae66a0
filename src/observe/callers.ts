import { DEFAULT_CLASS } from '../auth/caller-class.ts';

/** A caller as it is named in the log and in the console. */
export interface NamedCaller {
  readonly caller: string;
  /** Absent in the default class. */
  readonly callerClass?: string | undefined;
}

/** The class of a caller for display; `undefined` for the default class, which is not displayed. */
export function shownClass(callerClass: string | null | undefined): string | undefined {
  return callerClass === null || callerClass === DEFAULT_CLASS ? undefined : callerClass;
}

/** A caller with names of bounded length, for storage; `null` if there is none. */
export function keptCaller(
  caller: string | null,
  callerClass: string | null | undefined,
): NamedCaller | null {
  if (caller === null) return null;
  const shown = shownClass(callerClass);
  return { caller: copiedName(caller), ...(shown && { callerClass: copiedName(shown) }) };
}

/** A caller with its class as one text: equal names in two classes are two callers. `callerOfKey` reverses it. */
export function callerKey({ caller, callerClass = '' }: NamedCaller): string {
  // The name of a class contains no space.
  return `${callerClass} ${caller}`;
}

/** The caller that a `callerKey` stands for. */
export function callerOfKey(key: string): NamedCaller {
  const end = key.indexOf(' ');
  const caller = key.slice(end + 1);
  return end > 0 ? { caller, callerClass: key.slice(0, end) } : { caller };
}

/** Maximum length of a stored name: callers choose operation names, identity providers choose caller names. */
const LONGEST_NAME = 64;

/** A name of bounded length, for storage. It is a copy, because a part of a text keeps the whole text in memory. */
export function copiedName(name: string): string {
  const short = name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
  return Buffer.from(short, 'utf8').toString('utf8');
}
