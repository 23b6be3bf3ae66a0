import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { loopTurns } from '../../scheduling/loop-turns.ts';

/** For every answer. A page that must do more than be looked at brings a policy of its own. */
export const securityHeaders = [
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  // Pages that CORS lets read an answer are not concerned.
  ['Cross-Origin-Resource-Policy', 'same-origin'],
] as const;

/** Makes browsers trust nothing about an answer. */
export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of securityHeaders) response.setHeader(name, value);
}

/** What a proxy in front may call a request: short, and nothing that could break a log's line. */
const sane = /^[\w.:-]{1,128}$/;

/** Every byte as it stands in a UUID. */
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** What the last two bytes of a UUID can count. */
const IDS_OF_ONE = 2 ** 16;

/** All of a random UUID but its last two bytes, and how many ids were made of it. */
let start = '';
let made = IDS_OF_ONE;

/** The name of a request in logs and answers: the caller's own if it is sane, else a new one. */
export function requestIdOf(given: string | string[] | null | undefined): string {
  return typeof given === 'string' && sane.test(given) ? given : newRequestId();
}

/**
 * A UUID of version 4 of which the last two bytes count: no two are the same, for a small part of what a
 * random one costs. It names a request, and is no secret: to know one is of no use.
 */
function newRequestId(): string {
  if (made === IDS_OF_ONE) {
    start = randomUUID().slice(0, -4);
    made = 0;
  }
  const id = `${start}${BYTES[made >> 8]}${BYTES[made & 0xff]}`;
  made += 1;
  return id;
}

/**
 * The id alone, not the request: Node keeps it with each timer and socket that was made in its work, for
 * as long as these last, and a connection to an upstream outlasts the request and its credential by far.
 */
const ids = new AsyncLocalStorage<string>();

/**
 * Runs the work of a request in a turn of the event loop that has time for it, if its sender still waits then.
 * `currentRequestId` knows the request in all that follows from that work. `owner`: whose share of the turns it takes.
 */
export function runInTurn(request: IncomingMessage, owner: string, work: () => unknown): void {
  const { headers } = request;
  const id = requestIdOf(headers['x-request-id']);
  // Where whatever answers the request finds the same one.
  headers['x-request-id'] = id;
  loopTurns.run(() => {
    if (!request.destroyed) ids.run(id, work);
  }, owner);
}

/**
 * The id of the request in whose work this is called, as its answer and the log's line of its operation have it;
 * `undefined` outside of any. Of what several requests share it is the one that began it.
 */
export function currentRequestId(): string | undefined {
  return ids.getStore();
}
