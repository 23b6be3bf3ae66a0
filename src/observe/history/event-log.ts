import type { Clock } from '../../scheduling/clock.ts';

/** How many are remembered. */
const REMEMBERED = 50;

/** What a line of the list is about. */
type LoggedKind =
  | 'refused'
  | 'failed'
  | 'operation-failed'
  | 'paused'
  | 'reachable'
  | 'redis'
  | 'started'
  | 'draining';

/** An event that is worth a line. */
export interface LoggedEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: LoggedKind;
  /** A sentence. It names no caller and no key. */
  readonly text: string;
  readonly requestId: string | null;
}

/** The last fifty events, in sentences for people. */
export class EventLog {
  readonly #clock: Clock;
  readonly #all: LoggedEvent[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(kind: LoggedKind, text: string, requestId: string | null = null): void {
    this.#all.push({ at: this.#clock.wall(), kind, text, requestId });
    if (this.#all.length > REMEMBERED) this.#all.shift();
  }

  /** The latest first. */
  get latest(): readonly LoggedEvent[] {
    return this.#all.toReversed();
  }
}
