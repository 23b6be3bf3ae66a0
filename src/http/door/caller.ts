import type { Viewer } from '../../auth/viewer.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Caller } from '../../upstream/operation.ts';
import { Receipt } from '../../upstream/receipt.ts';
import { preferenceApplied, preferredWaitMs } from './headers/prefer.ts';

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
