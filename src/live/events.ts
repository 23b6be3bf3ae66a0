import type { Clock } from '../scheduling/clock.ts';

/** The times in each event, as `extensions.live`. */
export interface LiveTimes {
  /** Counts the results that differ from the previous one. */
  readonly revision: number;
  /** Age of the oldest data in the result, in milliseconds. */
  readonly ageMs: number;
  /** Expected time until its refresh; `null` if unknown. */
  readonly nextRefreshInMs: number | null;
}

/** A comment, so that proxies do not close an idle connection. */
export const heartbeat = Buffer.from(':\n\n');

/** A whole result. `document` is its JSON without the last brace; `upstream` is its cost. */
export function resultEvent(
  document: string,
  { live, upstream }: { readonly live: LiveTimes; readonly upstream: object },
): Buffer {
  const extensions = JSON.stringify({ upstream, live });
  return Buffer.from(`event: next\ndata: ${document},"extensions":${extensions}}\n\n`);
}

/** Reports that nothing has changed, with the current age. */
export function ageEvent(live: LiveTimes): Buffer {
  return Buffer.from(`event: age\ndata: ${JSON.stringify({ extensions: { live } })}\n\n`);
}

/** Why a stream ends finally. */
export function errorEvent(errors: readonly object[]): Buffer {
  return Buffer.from(`event: next\ndata: ${JSON.stringify({ errors })}\n\n`);
}

/** The end: final if `reconnectInMs` is null, otherwise until a reconnect after that time. */
export function endEvent(reconnectInMs: number | null): Buffer {
  // To clients, "complete" means that no more events follow.
  return Buffer.from(
    reconnectInMs === null ? 'event: complete\ndata:\n\n' : `retry: ${reconnectInMs}\n\n`,
  );
}

/** Time for which an event can be reused, in milliseconds. */
const SAME_MOMENT_MS = 100;

/**
 * The latest events, by name: created once for all members that need them at the same time. An event takes as much
 * memory as the result, so it is kept only briefly.
 */
export class RecentEvents {
  readonly #clock: Clock;
  readonly #events = new Map<string, { readonly event: Buffer; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A recent event of this name, or a new one. */
  once(name: string, make: () => Buffer): Buffer {
    const now = this.#clock.now();
    const known = this.#events.get(name);
    if (known && now - known.at < SAME_MOMENT_MS) return known.event;
    const event = make();
    if (this.#events.size === 0) this.#clock.after(SAME_MOMENT_MS, () => this.forget());
    this.#events.set(name, { event, at: now });
    return event;
  }

  /** The result has changed. */
  forget(): void {
    this.#events.clear();
  }
}
