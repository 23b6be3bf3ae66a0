import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';

interface AnnouncedLimitOptions {
  readonly upstream: UpstreamName;
  /** Requests per window by the settings. */
  readonly rateLimit: number;
  readonly events: EventStream;
}

/** Warns the operator, once for each value, of a limit in the settings that is above what the upstream announces. */
export class AnnouncedLimit {
  readonly #options: AnnouncedLimitOptions;
  readonly #warned = new Set<number>();

  constructor(options: AnnouncedLimitOptions) {
    this.#options = options;
  }

  /** An answer to a request with the gateway's own key announces `limit` requests, fewer than the settings. */
  note(limit: number): void {
    const { events, rateLimit, upstream } = this.#options;
    // 0 is no limit that anything could be sent under: the budget does not believe it either.
    if (limit <= 0 || this.#warned.has(limit)) return;
    this.#warned.add(limit);
    const setting = `${upstream}_RATE_LIMIT`;
    events.emit('complaint', {
      sentence: `${setting} is ${rateLimit}, but ${upstreamTitle[upstream].replace('The', 'the')} announces a limit of ${limit} requests, which applies. Set ${setting}=${limit}.`,
    });
  }
}
