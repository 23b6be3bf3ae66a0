import type { Dispatcher } from 'undici';
import type { Clock } from '../../scheduling/clock.ts';
import { asMap, DecodeError } from '../decode/fields.ts';
import type { Api, Call, DecodeContext, JudgeContext, RawAnswer, Verdict } from '../request.ts';
import type { Failure } from './failure.ts';
import {
  type Feedback,
  LONGEST_PAUSE_WINDOWS,
  NO_FEEDBACK,
  readRateLimit,
  readRetryAfter,
} from './rate-limit-headers.ts';
import { sendOverWire, WireError, type WireRequest } from './send.ts';
import { bareJson, HIDDEN, plainText, presentable } from './verdict.ts';

/** The API, its base URL and its timeout. */
export interface ExchangeOptions {
  readonly api: Api;
  /** Without a trailing slash; may carry a path prefix. */
  readonly baseUrl: string;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly rateWindowMs: number;
  readonly timeoutMs: number;
  /** IANA name of the zone of timestamps that carry none. */
  readonly timeZone: string;
  /** Called with every member of a response that differs from the documentation, as `resource.member`. */
  readonly onSurprise?: (field: string) => void;
  readonly witness?: Witness | undefined;
}

/** A decoded response. */
export interface ReceivedValue<T> {
  readonly kind: 'value';
  readonly value: T;
  /** Approximate memory that it takes. */
  readonly bytes: number;
  /** The upstream's own message beside the data, as callers may see it; empty if there is none. */
  readonly message: () => string;
}

/** The outcome of one request. */
export interface Exchanged<T> {
  readonly feedback: Feedback;
  /** `refused`: the rate limit was hit and nothing happened. */
  readonly outcome:
    | ReceivedValue<T>
    | { readonly kind: 'refused' }
    /** It was no longer allowed to be sent, and was not. */
    | { readonly kind: 'late' }
    | { readonly kind: 'failure'; readonly failure: Failure };
}

/** The outcome of one request, before its sender gets it. */
export interface Witnessed {
  /** `null` if there was no response. */
  readonly answer: RawAnswer | null;
  readonly outcome: Exchanged<unknown>['outcome'];
  /** The resource of a response that has other text around its JSON, such as a notice of PHP. */
  readonly wrapped?: string;
}

/** Inspects requests that have ended. */
export interface Witness {
  /** Called with every request that has ended. Must not throw. */
  look(witnessed: Witnessed): void;
}

/** A request with additional properties. */
export interface Witnessable {
  readonly absentIsNull?: boolean;
  /** Called when it has ended, before its sender gets the outcome. Must not throw. */
  readonly witness?: (witnessed: Witnessed) => void;
}

/** Memory of a decoded response in bytes per character of its text. */
const BYTES_PER_CHARACTER = 2;

/**
 * Sends one request in the format of its API, and decodes the response. Exactly 1 upstream request; none if it may no
 * longer be sent. Never throws because of a response.
 */
export async function exchange<T>(
  options: ExchangeOptions,
  call: Call<T> & Witnessable & { readonly resource?: string },
  secret: string,
  mayLeave?: () => boolean,
): Promise<Exchanged<T>> {
  let answer: RawAnswer;
  try {
    answer = await sendOverWire(options, { ...compose(options, call, secret), mayLeave });
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    if (error.kind === 'late') return { feedback: NO_FEEDBACK, outcome: { kind: 'late' } };
    const outcome = { kind: 'failure', failure: error } as const;
    witness(options, call, { answer: null, outcome });
    return { feedback: NO_FEEDBACK, outcome };
  }
  const text = answer.status < 500 ? bareJson(answer.text) : null;
  const exchanged = understand(options, call, text === null ? answer : { ...answer, text }, secret);
  const { outcome } = exchanged;
  witness(options, call, {
    answer,
    outcome,
    ...(text === null ? {} : { wrapped: resourceOf(call) }),
  });
  return exchanged;
}

/** The subject of a request, e.g. `channels`: one of few words, never an id. */
export function resourceOf({
  path,
  resource,
}: Pick<Call<unknown>, 'path'> & { readonly resource?: string }): string {
  return resource ?? nounOf(path);
}

/** The kind of resource of a request: the same for a list, its rows and their writes. */
export function kindOf({ path }: Pick<Call<unknown>, 'path'>): string {
  // `/api/campaigns`, but `/api/campaign/:id`.
  return nounOf(path).replace(/s$/, '');
}

/**
 * The word after `/api` in a path, which is the name of a request without a resource. The rest of the path can contain
 * values of callers.
 */
function nounOf(path: string): string {
  return path.split('/', 3)[2] ?? '';
}

function witness(
  { witness: by }: ExchangeOptions,
  { witness: own }: Witnessable,
  witnessed: Witnessed,
): void {
  by?.look(witnessed);
  own?.(witnessed);
}

/** The decoded result of a response. */
function understand<T>(
  options: ExchangeOptions,
  call: Call<T> & { readonly absentIsNull?: boolean },
  answer: RawAnswer,
  secret: string,
): Exchanged<T> {
  const wallMs = upstreamWallMs(answer, options.clock);
  const feedback = readFeedback(answer, wallMs, options);
  const context = { method: call.method, wallMs };
  const judged = judge(options.api, answer, context, secret);
  const verdict =
    'reason' in judged
      ? { ...judged, reason: presentable(judged.reason, options.baseUrl) }
      : judged;
  switch (verdict.kind) {
    case 'limited': {
      const refused = { retryAfterMs: verdict.retryAfterMs };
      const wantsMs = refused.retryAfterMs ?? feedback.resetInMs ?? options.rateWindowMs;
      call.stream?.refused?.(Math.min(wantsMs, LONGEST_PAUSE_WINDOWS * options.rateWindowMs));
      return { feedback: { ...feedback, refused }, outcome: { kind: 'refused' } };
    }
    case 'success':
      return { feedback, outcome: decode(options, call, verdict.body, { answer, secret }) };
    case 'absent':
      // The type of such a read includes null.
      if (call.absentIsNull) {
        const none = { kind: 'value', value: null as T, bytes: 0, message: () => '' } as const;
        return { feedback, outcome: none };
      }
      return { feedback, outcome: { kind: 'failure', failure: verdict } };
    default:
      return { feedback, outcome: { kind: 'failure', failure: verdict } };
  }
}

/** Classifies a response. Callers may see the reason of a refusal, but not a key that is repeated in it. */
function judge(api: Api, answer: RawAnswer, context: JudgeContext, secret: string): Verdict {
  const verdict = api.judge(answer, context);
  if (verdict.kind === 'unavailable' && answer.status === 503) {
    const retryAfterMs = readRetryAfter(answer.headers, null, context);
    return retryAfterMs === null ? verdict : { ...verdict, retryAfterMs };
  }
  if (!('reason' in verdict) || secret === '') return verdict;
  // Some JSON writers put a backslash before each slash. A reason may be cut, so its source is searched.
  const text = [secret, secret.replaceAll('/', '\\/')].reduce(
    (rest, spelling) => rest.replaceAll(spelling, HIDDEN),
    answer.text,
  );
  return text === answer.text ? verdict : api.judge({ ...answer, text }, context);
}

function decode<T>(
  options: ExchangeOptions,
  call: Call<T>,
  body: unknown,
  { answer, secret }: { readonly answer: RawAnswer; readonly secret: string },
): Exchanged<T>['outcome'] {
  const context: DecodeContext = {
    timeZone: options.timeZone,
    surprise: options.onSurprise ?? (() => {}),
  };
  try {
    const value = call.decode(body, context);
    const bytes = answer.text.length * BYTES_PER_CHARACTER;
    return { kind: 'value', value, bytes, message: () => messageIn(body, options.baseUrl, secret) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { kind: 'failure', failure: { kind: 'invalid', detail: error.message } };
  }
}

/** The message of a successful response for callers: without addresses, secrets and markup. */
function messageIn(body: unknown, baseUrl: string, secret: string): string {
  const { message } = asMap(body) ?? {};
  if (typeof message !== 'string') return '';
  // A long message is cut, so the key is removed before.
  const hidden = secret === '' ? message : message.replaceAll(secret, HIDDEN);
  return presentable(plainText(hidden), baseUrl);
}

function compose(options: ExchangeOptions, call: Call<unknown>, secret: string): WireRequest {
  const { api, baseUrl, timeoutMs, timeZone } = options;
  const headers: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    'user-agent': 'links-market-gateway',
  };
  const request = {
    headers,
    query: new URLSearchParams(call.query),
    body: call.body && {
      ...(typeof call.body === 'function' ? call.body({ timeZone }) : call.body),
    },
  };
  api.authorize(request, secret);
  const query = request.query.toString();
  let body: string | null = null;
  if (request.body && api.bodyEncoding === 'form') {
    headers['content-type'] = 'application/x-www-form-urlencoded';
    const fields = Object.entries(request.body).map(([name, value]) => [name, String(value)]);
    body = new URLSearchParams(Object.fromEntries(fields)).toString();
  } else if (request.body) {
    body = JSON.stringify(request.body);
  }
  if (call.stream) {
    // Independent of the file: a form or JSON would be parsed by a framework on the server.
    headers['content-type'] = 'application/octet-stream';
    if (call.stream.length !== null) headers['content-length'] = String(call.stream.length);
  }
  const url = `${baseUrl}${call.path}${query && `?${query}`}`;
  const stream = call.stream?.open() ?? null;
  return { method: call.method, url, headers, body, stream, timeoutMs };
}

function readFeedback(
  answer: RawAnswer,
  wallMs: number,
  { timeZone, rateWindowMs }: { readonly timeZone: string; readonly rateWindowMs: number },
): Feedback {
  const reading = readRateLimit(answer.headers, { wallMs, timeZone, windowMs: rateWindowMs });
  if (!reading) return NO_FEEDBACK;
  const { limit, remaining, resetAtMs } = reading;
  return {
    limit,
    remaining,
    resetInMs: resetAtMs === null ? null : Math.max(0, resetAtMs - wallMs),
  };
}

/** The upstream's own clock, if it is sent, so that a difference between the clocks cancels out. */
function upstreamWallMs({ headers: { date } }: RawAnswer, clock: Clock): number {
  const dateMs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Number.isNaN(dateMs) ? clock.wall() : dateMs;
}
