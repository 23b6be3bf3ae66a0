import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import { asMap } from '../decode/fields.ts';
import { parseTimestamp } from '../decode/timestamp.ts';

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The rate limit in the headers of a response; each member is `null` if it is missing. */
export interface RateLimitReading {
  /** Requests per window. */
  readonly limit: number | null;
  /** Requests left in this window. */
  readonly remaining: number | null;
  /** When the window ends, in milliseconds since the epoch. */
  readonly resetAtMs: number | null;
}

/** The information of one response about the budget of its key. */
export interface Feedback {
  /** Requests per window that the upstream announces. */
  readonly limit: number | null;
  /** Requests left in the upstream's window, by its own count. */
  readonly remaining: number | null;
  /** Milliseconds until the upstream's window begins again. */
  readonly resetInMs: number | null;
  /** Present if the upstream refused the request by its rate limit; with the length of the pause, if stated. */
  readonly refused?: { readonly retryAfterMs: number | null };
  /** Present if the request needs another slot, at the head of its lane. */
  readonly again?: true;
}

/** The feedback of a response without rate-limit headers. */
export const NO_FEEDBACK: Feedback = { limit: null, remaining: null, resetInMs: null };

/** Maximum pause after a refusal, even if the upstream requests more: then one request is tried. */
export const LONGEST_PAUSE_WINDOWS = 3;

/** A smaller number is a duration (up to three years in seconds), any other a date. */
const firstEpochSeconds = 100_000_000;
/** A smaller date is in seconds (until the year 5138), any other in milliseconds. */
const firstEpochMs = 100_000_000_000;

/**
 * Reads the rate-limit headers of a response received at `wallMs`; `null` if there are none. The format of Reset
 * is not documented: epoch seconds, epoch milliseconds, seconds from now, an HTTP date and a timestamp (local to
 * `timeZone` if it has no zone) are all in use.
 *
 * With `windowMs`, a Reset more than two windows away from `wallMs` is ignored: no window ends that far away, so a
 * clock or a zone is wrong, and using it would stop all traffic.
 * Implements: Link API > Limits.
 */
export function readRateLimit(
  headers: AnswerHeaders,
  context: {
    readonly wallMs: number;
    readonly timeZone: string;
    readonly windowMs?: number | undefined;
  },
): RateLimitReading | null {
  const limit = readCount(headers, 'limit');
  const remaining = readCount(headers, 'remaining');
  const reset = readHeader(headers, 'x-ratelimit-reset') ?? readHeader(headers, 'ratelimit-reset');
  const moment = reset === null ? null : readMoment(reset, context.wallMs, context.timeZone);
  const implausible =
    moment !== null &&
    context.windowMs !== undefined &&
    Math.abs(moment - context.wallMs) > 2 * context.windowMs;
  const resetAtMs = implausible ? null : moment;
  if (limit === null && remaining === null && resetAtMs === null) return null;
  return { limit, remaining, resetAtMs };
}

/**
 * The delay that a refusal requests, in milliseconds from `wallMs` and never negative: from the `Retry-After`
 * header, otherwise from a member of the JSON body, in any spelling. Either contains seconds or a date. `null` if
 * there is no usable value.
 */
export function readRetryAfter(
  headers: AnswerHeaders,
  body: unknown,
  context: { readonly wallMs: number },
): number | null {
  const candidates: unknown[] = [readHeader(headers, 'retry-after')];
  const answer = asMap(body) ?? {};
  for (const members of [answer, asMap(answer['data']) ?? {}, asMap(answer['error']) ?? {}]) {
    for (const [key, value] of Object.entries(members)) {
      if (/^retry[\s_-]?after$/i.test(key)) candidates.push(value);
    }
  }
  for (const candidate of candidates) {
    if (typeof candidate !== 'string' && typeof candidate !== 'number') continue;
    // RFC 9110 section 10.2.3 allows only seconds and dates, and those dates are in GMT.
    const moment = readMoment(String(candidate), context.wallMs, 'UTC');
    if (moment !== null) return Math.max(0, moment - context.wallMs);
  }
  return null;
}

/** A time in any of the formats in use, in milliseconds since the epoch. */
function readMoment(text: string, wallMs: number, timeZone: string): number | null {
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const number = Number(text);
    if (number >= firstEpochMs) return number <= 8.64e15 ? Math.floor(number) : null;
    return Math.round(number >= firstEpochSeconds ? number * 1000 : wallMs + number * 1000);
  }
  return readHttpDate(text) ?? parseTimestamp(text, timeZone);
}

/** The three forms of RFC 9110 section 5.6.7; the oldest does not name its zone, which is GMT. */
function readHttpDate(text: string): number | null {
  if (!/^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? /i.test(text)) return null;
  const moment = Date.parse(/(?:GMT|UTC|[+-]\d{4})$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(moment) ? null : moment;
}

/** A count that may carry a policy after it, as in `30;w=60` or `30, 30;w=60`. */
function readCount(headers: AnswerHeaders, name: 'limit' | 'remaining'): number | null {
  const text =
    readHeader(headers, `x-ratelimit-${name}`) ?? readHeader(headers, `ratelimit-${name}`);
  const digits = text === null ? null : /^\d{1,15}(?=$|[\s,;.])/.exec(text);
  return digits ? Number(digits[0]) : null;
}

function readHeader(headers: AnswerHeaders, name: string): string | null {
  const value = headers[name];
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  return text === undefined || text === '' ? null : text;
}

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
