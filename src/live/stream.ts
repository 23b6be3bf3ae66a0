import { Readable } from 'node:stream';
import type { Clock } from '../scheduling/clock.ts';

/** The source of a stream. */
export interface StreamSource {
  /** The next event for a stream at this revision; `null` if it has the latest. */
  nextFor(stream: LiveStream): { readonly event: Buffer; readonly revision: number } | null;
  left(stream: LiveStream): void;
}

/**
 * An event is written in pieces of this size, so that the unread part is not copied into the connection of a slow client.
 */
const PIECE_BYTES = 16 * 1024;

const NOTHING: readonly Buffer[] = [];

/**
 * The events for one viewer, sent as fast as they are read: a slow one receives the latest state next, and never a
 * queue. Events are shared between streams, so an idle or slow one holds none of its own.
 */
export class LiveStream extends Readable {
  /** Whether the viewer reads events that say that nothing has changed. */
  readonly readsAges: boolean;
  /** The caller for whom it is counted. */
  readonly caller: string;
  /** The number of the latest result that was sent; 0 before the first. */
  revision = 0;
  /** When the last piece was sent, on `clock.now()`. */
  spokeAt: number;
  /** When its viewer's permissions were last checked, on `clock.now()`. */
  checkedAt: number;
  /** Number of the writes of its source that the viewer must see. */
  wantsWrites = 0;
  /** Number of sent events and bytes. */
  events = 0;
  bytes = 0;
  #source: StreamSource | null = null;
  readonly #clock: Clock;
  /** Whether the viewer is ready for the next piece. */
  #wants = false;
  /** The current event, and the number of its sent pieces. */
  #event = NOTHING;
  #given = 0;
  #last: readonly Buffer[] | null = null;

  constructor(options: {
    readonly readsAges: boolean;
    readonly caller: string;
    readonly clock: Clock;
  }) {
    super({ highWaterMark: 0 });
    this.readsAges = options.readsAges;
    this.caller = options.caller;
    this.#clock = options.clock;
    this.spokeAt = options.clock.now();
    this.checkedAt = this.spokeAt;
  }

  /** Whether its last event was queued. */
  get isEnding(): boolean {
    return this.#last !== null || this.destroyed;
  }

  /** Sets the source of events. */
  connect(source: StreamSource): void {
    this.#source = source;
    this.look();
  }

  /** There may be a new event. */
  look(): void {
    if (!this.#wants || this.destroyed || this.#last) return;
    const next = this.#source?.nextFor(this);
    if (!next) return;
    this.revision = next.revision;
    this.#begin(next.event);
  }

  /** Sends an event that is only useful now, unless another event is being sent. */
  mention(event: Buffer): void {
    if (this.#wants && !this.destroyed && !this.#last) this.#begin(event);
  }

  /** Ends with this last event, after the current one. */
  finish(words: Buffer): void {
    if (this.destroyed || this.#last) return;
    this.#last = piecesOf(words);
    if (this.#wants) this.#goOn();
  }

  override _read(): void {
    this.#wants = true;
    if (this.#event.length > 0 || this.#last) this.#goOn();
    else this.look();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const source = this.#source;
    this.#source = null;
    this.#event = NOTHING;
    source?.left(this);
    done(error);
  }

  #begin(event: Buffer): void {
    this.#event = piecesOf(event);
    this.#given = 0;
    this.events += 1;
    this.#goOn();
  }

  #goOn(): void {
    this.#wants = false;
    this.spokeAt = this.#clock.now();
    if (this.#event.length === 0 && this.#last) {
      this.#event = this.#last;
      this.#last = NOTHING;
    }
    const piece = this.#event[this.#given];
    this.#given += 1;
    if (this.#given >= this.#event.length) {
      // An idle stream keeps no event.
      this.#event = NOTHING;
      this.#given = 0;
    }
    this.bytes += piece?.length ?? 0;
    this.push(piece ?? null);
  }
}

/** The pieces of events, while these are referenced, so that an event for many viewers is compressed once. */
const pieces = new WeakMap<Buffer, readonly Buffer[]>();

function piecesOf(event: Buffer): readonly Buffer[] {
  let known = pieces.get(event);
  if (!known) {
    const count = Math.ceil(event.length / PIECE_BYTES);
    known = Array.from({ length: count }, (_, index) =>
      event.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
    );
    pieces.set(event, known);
  }
  return known;
}
