import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { loopTurns } from '../../scheduling/loop-turns.ts';

/** For every response. A page that needs more permissions has its own policy. */
export const securityHeaders = [
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  // Pages that CORS lets read an answer are not concerned.
  ['Cross-Origin-Resource-Policy', 'same-origin'],
] as const;

/** Restricts what browsers may do with any response. `cors`: names and values by turns, see `OriginRights`. */
export function setSecurityHeaders(response: ServerResponse, cors: readonly string[] = []): void {
  for (const [name, value] of securityHeaders) response.setHeader(name, value);
  for (let at = 0; at < cors.length; at += 2) {
    response.appendHeader(cors[at] ?? '', cors[at + 1] ?? '');
  }
}

/** A request id from a proxy must be short, and must not be able to break a log line. */
const sane = /^[\w.:-]{1,128}$/;

/** Every byte in the hexadecimal form of a UUID. */
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** What the last two bytes of a UUID can count. */
const IDS_OF_ONE = 2 ** 16;

/** All of a random UUID but its last two bytes, and how many ids were made of it. */
let start = '';
let made = IDS_OF_ONE;

/** The id of a request in logs and responses: the client's own if it is valid, otherwise a new one. */
export function requestIdOf(given: string | string[] | null | undefined): string {
  return typeof given === 'string' && sane.test(given) ? given : newRequestId();
}

/**
 * A UUID of version 4 whose last two bytes are a counter: unique, at a small part of the cost of a random one. It
 * identifies a request, and is not a secret.
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
 * Runs the work of a request in a turn of the event loop with enough time, if its client still waits then.
 * `currentRequestId` returns its id in all that follows from that work. `owner`: the owner of its share of the
 * turns.
 */
export function runInTurn(request: IncomingMessage, owner: string, work: () => unknown): void {
  const { headers } = request;
  const id = requestIdOf(headers['x-request-id']);
  // All handlers of the request read the same id here.
  headers['x-request-id'] = id;
  loopTurns.run(() => {
    if (!request.destroyed) ids.run(id, work);
  }, owner);
}

/**
 * The id of the request in whose work this is called, equal in its response and in the log line of its operation;
 * `undefined` outside of any. Work shared by several requests has the id of the one that began it.
 */
export function currentRequestId(): string | undefined {
  return ids.getStore();
}
