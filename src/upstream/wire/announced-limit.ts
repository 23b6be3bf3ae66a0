import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';

interface AnnouncedLimitOptions {
  readonly upstream: UpstreamName;
  /** The configured number of requests per window. */
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

  /** A response to a request with the gateway's own key announces `limit` requests, fewer than configured. */
  note(limit: number): void {
    const { events, rateLimit, upstream } = this.#options;
    // A limit of 0 would allow no request. The budget ignores it too.
    if (limit <= 0 || this.#warned.has(limit)) return;
    this.#warned.add(limit);
    const setting = `${upstream}_RATE_LIMIT`;
    events.emit('complaint', {
      sentence: `${setting} is ${rateLimit}, but ${upstreamTitle[upstream].replace('The', 'the')} announces a limit of ${limit} requests, which applies. Set ${setting}=${limit}.`,
    });
  }
}
