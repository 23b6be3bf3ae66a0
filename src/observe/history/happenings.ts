import type { Clock } from '../../clock.ts';

/** How many are remembered. */
const REMEMBERED = 50;

/** What a line of the list is about. */
type HappeningKind =
  | 'refused'
  | 'failed'
  | 'operation-failed'
  | 'paused'
  | 'reachable'
  | 'redis'
  | 'started'
  | 'draining';

/** Something that happened, worth a line. */
export interface Happening {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: HappeningKind;
  /** A sentence. It names no caller and no key. */
  readonly text: string;
  readonly requestId: string | null;
}

/** The last fifty things that happened. */
export class HappeningList {
  readonly #clock: Clock;
  readonly #all: Happening[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(kind: HappeningKind, text: string, requestId: string | null = null): void {
    this.#all.push({ at: this.#clock.wall(), kind, text, requestId });
    if (this.#all.length > REMEMBERED) this.#all.shift();
  }

  /** The latest first. */
  get latest(): readonly Happening[] {
    return this.#all.toReversed();
  }
}
