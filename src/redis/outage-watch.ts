import { BoundedMap } from '../bounded-map.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Clock } from '../scheduling/clock.ts';

interface OutageWatchOptions {
  readonly clock: Clock;
  readonly events: EventStream;
  /** Whether Redis does not answer, for longer than a moment. */
  readonly isOut: () => boolean;
  /** Told whenever that is otherwise than before. */
  readonly changed: () => void;
}

/** Pause before the same refusal is logged again, in milliseconds. */
const REPEAT_MS = 600_000;
/** Refusals that are told apart. */
const REASONS_REMEMBERED = 50;

/** Logs what keeps Redis from doing its work: once when it begins and once when it ends, however often it is looked at. */
export class OutageWatch {
  readonly #options: OutageWatchOptions;
  #wasOut = false;
  /** When each refusal was logged last, on `clock.now()`. */
  readonly #refusals = new BoundedMap<number>({ max: REASONS_REMEMBERED });
  #permissions: readonly string[] = [];

  constructor(options: OutageWatchOptions) {
    this.#options = options;
  }

  /** What the user may not do of what is needed, as commands with their keys. */
  get permissions(): readonly string[] {
    return this.#permissions;
  }

  /** Looks whether something has changed. */
  look(): void {
    const { changed, events, isOut } = this.#options;
    const out = isOut();
    if (out === this.#wasOut) return;
    this.#wasOut = out;
    if (out) {
      events.emit('complaint', {
        sentence:
          'Redis cannot be asked: nothing is sent to the upstreams until it can, and cached answers are stale ones.',
      });
    } else {
      this.#refusals.forget(() => true);
      events.emit('notice', { message: 'redis is back' });
    }
    changed();
  }

  /** Redis has answered with an error, in its own words. */
  refused(reason: string): void {
    const { clock, events } = this.#options;
    const toldAt = this.#refusals.get(reason);
    if (toldAt !== undefined && clock.now() - toldAt < REPEAT_MS) return;
    this.#refusals.set(reason, clock.now());
    events.emit('complaint', { sentence: `Redis does not do what it is asked: ${reason}.` });
  }

  /** The permissions that the user lacks have changed. */
  denied(permissions: readonly string[]): void {
    const { events } = this.#options;
    this.#permissions = permissions;
    if (permissions.length === 0)
      events.emit('notice', { message: 'redis grants all permissions' });
    else {
      events.emit('complaint', {
        sentence: `The user of REDIS_URL may not: ${permissions.join(', ')}. Allow it with ACL SETUSER.`,
      });
    }
  }
}
