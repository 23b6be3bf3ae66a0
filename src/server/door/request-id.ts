import { randomUUID } from 'node:crypto';

/** What a proxy in front may call a request: short, and nothing that could break a log's line. */
const sane = /^[\w.:-]{1,128}$/;

/** The name of a request in logs and answers: the caller's own if it is sane, else a new one. */
export function requestIdOf(given: string | string[] | null | undefined): string {
  return typeof given === 'string' && sane.test(given) ? given : randomUUID();
}
