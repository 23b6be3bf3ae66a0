import { readStamp } from '../clock.ts';
import { type Answer, json, Refusal } from '../http/answer.ts';
import { cutPage } from '../http/paging.ts';
import type { Routes, SandboxRequest } from '../http/router.ts';
import type { LinksStore, User } from './store.ts';

/** The context of an endpoint of the link API: the store, and the account of the request's key. */
export interface LinksContext {
  readonly store: LinksStore;
  readonly account: User;
  readonly request: SandboxRequest;
}

/** Endpoints of the link API. */
export type LinksRoutes = Routes<LinksContext>;

/** Success with further members beside `error`. */
export function ok(members: Record<string, unknown>): Answer {
  return json({ error: 0, ...members });
}

/**
 * A list page inside `data`. `error` is the string "0" here: the documentation allows it, and clients must handle it.
 * Implements: Link API > Pagination members.
 */
export function listPage<R>(
  context: LinksContext,
  key: string,
  rows: readonly R[],
  view: (row: R) => unknown,
): Answer {
  const page = cutPage(rows, context.request, context.store.maxLimit);
  return json({ error: '0', data: { ...page.members, [key]: page.rows.map(view) } });
}

/** The row. Throws a refusal with 404 and the name without one. */
export function existing<R>(row: R | undefined, what: string): R {
  if (row === undefined) throw new Refusal(404, `${what} does not exist`);
  return row;
}

/** The members of a JSON body. Rejects a body that is no object. */
export function members(context: LinksContext): Record<string, unknown> {
  const { body, bytes } = context.request;
  if (bytes.length === 0) return {};
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Refusal(400, 'The request body must be a JSON object');
  return body as Record<string, unknown>;
}

/** An optional text member: undefined when absent or null. */
export function optionalText(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new Refusal(400, `The ${name} must be a string`);
  return value.trim();
}

/** A required text member, not blank. */
export function requiredText(body: Record<string, unknown>, name: string): string {
  const text = optionalText(body, name);
  if (!text) throw new Refusal(400, `The ${name} is required`);
  return text;
}

/** An optional boolean member; 0 and 1 are accepted too, as by real installations. */
export function optionalFlag(body: Record<string, unknown>, name: string): boolean | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (value === true || value === 1 || value === '1') return true;
  if (value === false || value === 0 || value === '0') return false;
  throw new Refusal(400, `The ${name} must be true or false`);
}

/** Rejects a text that is no http or https URL. */
export function webAddress(text: string, name: string): string {
  if (!/^https?:\/\/[^\s/?#.]+(\.[^\s/?#.]+)*(:\d+)?([/?#]\S*)?$/i.test(text))
    throw new Refusal(400, `The ${name} must be a valid URL including http or https`);
  return text;
}

/** Rejects a text that is no email address. */
export function emailAddress(text: string): string {
  if (!/^[^\s@<>"']+@[^\s@.<>"']+(\.[^\s@.<>"']+)+$/.test(text))
    throw new Refusal(400, 'The email is not valid');
  return text;
}

/** An optional `YYYY-MM-DD HH:MM:SS` member. */
export function optionalStamp(body: Record<string, unknown>, name: string): string | undefined {
  const text = optionalText(body, name);
  if (text === undefined) return undefined;
  if (text.length !== 19 || readStamp(text) === undefined)
    throw new Refusal(400, `The ${name} must be a date like 2026-01-31 23:59:59`);
  return text;
}

/** Rejects accounts without admin privileges. Implements: Link API > Authentication, rule 5. */
export function adminOnly(context: LinksContext): void {
  if (!context.account.admin)
    throw new Refusal(403, 'You do not have permission to access this endpoint');
}

/** The time by the sandbox's clock, in milliseconds since the epoch. */
export function now(context: LinksContext): number {
  return context.store.clock.wall();
}
