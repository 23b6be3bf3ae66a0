import { BadUserInput } from '../../../errors.ts';

/** The request header with the key of a write, see docs/idempotency.md. */
export const idempotencyKeyHeader = 'idempotency-key';

/** The response header that says that nothing was executed: each write with a key was executed by an earlier request. */
export const replayedHeader = 'Idempotency-Replayed';

/** A string of a structured header: a quotation mark or a backslash in it follows a backslash. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;
/** What clients send that know nothing of structured headers. Several headers are one, with commas. */
const BARE = /^[^\s",;\\]+$/;

/**
 * Reads the header: one string of a structured header, or the key itself. `null` if it is absent.
 * Implements: RFC 9651 section 3.3.3, draft-ietf-httpapi-idempotency-key-header.
 * @throws BadUserInput `BAD_USER_INPUT` for any other value, and for several headers.
 */
export function readIdempotencyKey(header: string | null | undefined): string | null {
  if (header === null || header === undefined) return null;
  const quoted = QUOTED.exec(header.trim())?.[1]?.replace(/\\(["\\])/g, '$1');
  const key = quoted ?? (BARE.test(header.trim()) ? header.trim() : '');
  return checkIdempotencyKey(key, 'The header Idempotency-Key, which can be sent once,');
}

/**
 * Returns a key that is valid. `place` is the subject of the message.
 * @throws BadUserInput `BAD_USER_INPUT`.
 */
export function checkIdempotencyKey(key: string, place: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new BadUserInput(
    `${place} must contain a key of 1 to 255 visible ASCII characters, e.g. "8e03978e-40d5-43dd-bc93-6894a57f9324".`,
  );
}
