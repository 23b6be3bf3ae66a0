import type { Log } from '../observe/logger.ts';

interface OutageWatchOptions {
  readonly log: Log;
  /** Whether Redis does not answer, for longer than a moment. */
  readonly isOut: () => boolean;
  /** Told whenever that is otherwise than before. */
  readonly changed: () => void;
}

/** Tells of an outage of Redis once when it begins and once when it ends, however often it is looked at. */
export class OutageWatch {
  readonly #options: OutageWatchOptions;
  #wasOut = false;
  /** Why Redis did not do what it was asked, as it was told last. */
  #reason = '';

  constructor(options: OutageWatchOptions) {
    this.#options = options;
  }

  /** Looks whether something has changed. */
  look(): void {
    const { changed, isOut, log } = this.#options;
    const out = isOut();
    if (out === this.#wasOut) return;
    this.#wasOut = out;
    if (out) {
      log.complaint(
        'Redis cannot be asked: nothing is sent to the upstreams until it can, and cached answers are stale ones.',
      );
    } else {
      this.#reason = '';
      log.event('redis is back');
    }
    changed();
  }

  /** Redis has answered with an error, in its own words. */
  refused(reason: string): void {
    if (this.#reason === reason) return;
    this.#reason = reason;
    this.#options.log.complaint(`Redis does not do what it is asked: ${reason}.`);
  }
}
