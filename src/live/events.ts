import type { Clock } from '../scheduling/clock.ts';

/** The form of changes in a stream: patches or whole results. */
export type LiveMode = 'patch' | 'whole';

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
export function wholeEvent(
  id: string,
  document: string,
  { live, upstream }: { readonly live: LiveTimes; readonly upstream: object },
): Buffer {
  const extensions = JSON.stringify({ upstream, live });
  return Buffer.from(`id: ${id}\nevent: next\ndata: ${document},"extensions":${extensions}}\n\n`);
}

/** The changes since revision `from`, as JSON of operations. */
export function patchEvent(id: string, patch: string, from: number, live: LiveTimes): Buffer {
  const { revision, ...times } = live;
  const extensions = JSON.stringify({ live: { revision, from, ...times } });
  return Buffer.from(
    `id: ${id}\nevent: patch\ndata: {"patch":${patch},"extensions":${extensions}}\n\n`,
  );
}

/** Reports that nothing has changed, with the current age. It has no id, because there is nothing to resume. */
export function ageEvent(live: LiveTimes): Buffer {
  return Buffer.from(`event: age\ndata: ${JSON.stringify({ extensions: { live } })}\n\n`);
}

/** Why a stream ends finally. It is not a state of the result, and has no id. */
export function errorEvent(errors: readonly object[]): Buffer {
  return Buffer.from(`event: next\ndata: ${JSON.stringify({ errors })}\n\n`);
}

/** The end: final if `reconnectInMs` is null, otherwise until a reconnect after that time. */
export function endEvent(mode: LiveMode, reconnectInMs: number | null): Buffer {
  const retry = reconnectInMs === null ? '' : `retry: ${reconnectInMs}\n`;
  if (mode === 'patch') {
    return Buffer.from(`${retry}event: complete\ndata: ${JSON.stringify({ reconnectInMs })}\n\n`);
  }
  // For other clients, "complete" means that no more events follow.
  return Buffer.from(reconnectInMs === null ? 'event: complete\ndata:\n\n' : `${retry}\n`);
}

/** Concatenates patches, as JSON. */
export function joinedPatches(patches: readonly string[]): string {
  return `[${patches.map((patch) => patch.slice(1, -1)).join(',')}]`;
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
