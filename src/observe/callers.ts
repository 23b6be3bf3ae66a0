import { DEFAULT_CLASS } from '../auth/caller-class.ts';

/** The class of a caller for display; `undefined` for the default class, which is not displayed. */
export function shownClass(callerClass: string | null | undefined): string | undefined {
  return callerClass === null || callerClass === DEFAULT_CLASS ? undefined : callerClass;
}
