import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

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
