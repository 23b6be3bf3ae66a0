import { randomUUID } from 'node:crypto';

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
