import { GatewayError } from '../errors.ts';
import { AGENT_CLASS } from './caller-class.ts';
import type { Credential } from './credential.ts';

/** The roles in ascending order; each includes the permissions of those before it. */
export const roles = ['viewer', 'editor', 'admin'] as const;

/** One of `roles`: a viewer reads, an editor also writes, an admin also manages plans and users. */
export type Role = (typeof roles)[number];

/** The authenticated sender of a request. */
export interface Viewer {
  /** For the fair order, and for logs: never a key or a token. */
  readonly name: string;
  /** Whether the caller has proved no identity: the name is an address. */
  readonly isAnonymous?: true;
  /** `null` for an authenticated caller without permissions. */
  readonly role: Role | null;
  /** See `CallerClasses`; absent in the default class. */
  readonly callerClass?: string;
  /** The caller's own key of the link-management API; absent when the gateway's own key is used. */
  readonly linksCredential?: Credential;
}

/** A viewer as a caller of `/mcp`: with the same permissions, in the class of agents. */
export function asAgent(viewer: Viewer): Viewer {
  return { ...viewer, callerClass: AGENT_CLASS };
}

/** Whether a viewer may do what `needed` is for. */
function mayAct({ role }: Viewer, needed: Role): boolean {
  return role !== null && roles.indexOf(role) >= roles.indexOf(needed);
}

/** The highest role among some words; `null` if there is none. Other words are ignored. */
export function highestRole(words: readonly unknown[]): Role | null {
  return roles.findLast((role) => words.includes(role)) ?? null;
}

/** `FORBIDDEN`, with the required role and that of the caller. */
function forbidden({ role }: Viewer, needed: Role, what: string): GatewayError {
  const yours = role === null ? 'you have no role' : `your role is \`${role}\``;
  return new GatewayError('FORBIDDEN', `${what} requires role \`${needed}\`; ${yours}.`, {
    details: { needs: needed },
  });
}

/** @throws GatewayError `FORBIDDEN` when a viewer may not do `what`. */
export function requireRole(viewer: Viewer, needed: Role, what: string): void {
  if (!mayAct(viewer, needed)) throw forbidden(viewer, needed, what);
}
