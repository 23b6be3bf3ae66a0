import type { Clock } from '../scheduling/clock.ts';

/** How long an event can be sent again after it was made, in milliseconds. */
const SAME_MOMENT_MS = 100;

/**
 * The events that were made a moment ago, by their names: made once for all members who come for them together. One
 * takes as much memory as the result, so that none is kept for longer.
 */
export class RecentEvents {
  readonly #clock: Clock;
  readonly #events = new Map<string, { readonly event: Buffer; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An event as it was made a moment ago, or a new one. */
  once(name: string, make: () => Buffer): Buffer {
    const now = this.#clock.now();
    const known = this.#events.get(name);
    if (known && now - known.at < SAME_MOMENT_MS) return known.event;
    const event = make();
    if (this.#events.size === 0) this.#clock.after(SAME_MOMENT_MS, () => this.forget());
    this.#events.set(name, { event, at: now });
    return event;
  }

  /** The result is another. */
  forget(): void {
    this.#events.clear();
  }
}
