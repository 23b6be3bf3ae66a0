import type { Viewer } from '../../auth/viewer.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Caller } from '../../upstream/operation.ts';
import { Receipt } from '../../upstream/receipt.ts';

/** Settles on what terms upstreams are called for a request: once for every route. */
export interface Callers {
  /** A viewer as the upstreams' clients know it for one request, with a receipt of its own. */
  callerOf(viewer: Viewer, request: CallerTerms): Caller;
  /** The `Preference-Applied` header of an answer; `null` where a `Prefer` header brings about none. */
  preferenceApplied(prefer: string | null | undefined): string | null;
}

/** What a request itself says about how long it is worth an answer. */
interface CallerTerms {
  /** The `Prefer` header. */
  readonly prefer: string | null | undefined;
  /** Aborts when the caller no longer waits. */
  readonly signal: AbortSignal;
}

/** `maxWaitMs`: how long a request waits for turns under the rate limits unless it prefers a shorter wait. */
export function createCallers(options: {
  readonly clock: Clock;
  readonly maxWaitMs: number;
}): Callers {
  const { clock, maxWaitMs } = options;
  return {
    callerOf: (viewer, { prefer, signal }) => ({
      name: viewer.name,
      receipt: new Receipt(clock),
      maxWaitMs: preferredWaitMs(prefer, maxWaitMs) ?? maxWaitMs,
      signal,
    }),
    preferenceApplied: (prefer) => preferenceApplied(prefer, maxWaitMs),
  };
}

/** The header that asks for the price of an operation instead of its answer. */
export const dryRunHeader = 'x-gateway-dry-run';

/**
 * Whether a value of the header asks for a dry run: every one does but those that plainly say no, since
 * a caller who meant one would spend what they wanted to know the price of.
 */
export function asksForDryRun(header: string | null | undefined): boolean {
  return !['', '0', 'false'].includes((header ?? '').trim().toLowerCase());
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
 * The `Preference-Applied` header of the answer: the wait that was in force, in seconds, which is less than
 * was asked for where that was too long; `null` when none was asked for.
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
