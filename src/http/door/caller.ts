import type { Viewer } from '../../auth/viewer.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Caller } from '../../upstream/operation.ts';
import { Receipt } from '../../upstream/receipt.ts';

/** Determines the caller and the limits of upstream requests, once for all routes. */
export interface Callers {
  /** A viewer as the caller of one request, with a new receipt. */
  callerOf(viewer: Viewer, request: CallerTerms): Caller;
  /** The `Preference-Applied` header of a response; `null` if the `Prefer` header has no effect. */
  preferenceApplied(prefer: string | null | undefined): string | null;
}

/** The limits that a request itself sets for its response time. */
export interface CallerTerms {
  /** The `Prefer` header. */
  readonly prefer?: string | null | undefined;
  /** Aborts when the caller no longer waits. */
  readonly signal: AbortSignal;
  /** Maximum number of upstream requests to each API, if it sets one. */
  readonly maxCalls?: number | null | undefined;
}

/** `maxWaitMs`: how long a request waits for turns under the rate limits unless it prefers a shorter wait. */
export function createCallers(options: {
  readonly clock: Clock;
  readonly maxWaitMs: number;
}): Callers {
  const { clock, maxWaitMs } = options;
  return {
    callerOf: (viewer, { maxCalls, prefer, signal }) => ({
      name: viewer.name,
      callerClass: viewer.callerClass,
      maxWaitMs: preferredWaitMs(prefer, maxWaitMs) ?? maxWaitMs,
      receipt: new Receipt(clock),
      signal,
      ...(maxCalls != null && { maxCalls }),
    }),
    preferenceApplied: (prefer) => preferenceApplied(prefer, maxWaitMs),
  };
}

/** The header that requests the cost of an operation instead of its response. */
export const dryRunHeader = 'x-gateway-dry-run';

/**
 * Whether a value of the header requests a dry run: all do except clear negatives, because executing a misspelled
 * dry run would spend what its caller wanted to avoid.
 */
export function asksForDryRun(header: string): boolean {
  return !['', '0', 'false'].includes(header.trim().toLowerCase());
}

/**
 * How long a caller is willing to wait for turns under the rate limits, in milliseconds: the `wait` of its
 * `Prefer` header, in seconds, but never longer than `maxWaitMs`; `null` when it does not say, or says
 * nothing usable. Several headers are one list, of which the first `wait` counts.
 * Implements: RFC 7240 sections 2 and 4.3.
 */
export function preferredWaitMs(
  prefer: string | null | undefined,
  maxWaitMs: number,
): number | null {
  if (!prefer) return null;
  for (const preference of preferencesOf(prefer)) {
    // Parameters behind a semicolon are not the preference's value.
    const [text = ''] = preference.split(';', 1);
    const [name = '', value = ''] = text.split('=', 2);
    if (name.trim().toLowerCase() !== 'wait') continue;
    const seconds = /^"?(\d+)"?$/.exec(value.trim())?.[1];
    return seconds === undefined ? null : Math.min(maxWaitMs, Number(seconds) * 1000);
  }
  return null;
}

/**
 * The `Preference-Applied` header of the response: the applied wait in seconds, reduced if the requested one was
 * too long; `null` if none was requested.
 * Implements: RFC 7240 section 3.
 */
export function preferenceApplied(
  prefer: string | null | undefined,
  maxWaitMs: number,
): string | null {
  const waitMs = preferredWaitMs(prefer, maxWaitMs);
  return waitMs === null ? null : `wait=${Math.floor(waitMs / 1000)}`;
}

/** The members of a list, which commas part, but for those within quotes. */
function preferencesOf(list: string): string[] {
  const parts = list.split('"');
  const unquoted = parts.map((part, index) => (index % 2 === 0 ? part : part.replaceAll(',', ' ')));
  return unquoted.join('"').split(',');
}
