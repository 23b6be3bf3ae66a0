/** Longest wait that a caller may ask for: an hour, so that a mistyped number holds nothing for ever. */
const MAX_WAIT_MS = 3_600_000;

/**
 * How long a caller is willing to wait for turns under the rate limits, in milliseconds: the `wait`
 * of its `Prefer` header, in seconds; `null` when it does not say, or says nothing usable.
 * Implements: RFC 7240 section 4.3.
 */
export function preferredWaitMs(prefer: string | null): number | null {
  const match = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer ?? '');
  return match ? Math.min(MAX_WAIT_MS, Number(match[1]) * 1000) : null;
}
