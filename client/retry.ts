import { headerMs, isForNow, retryAfterMs } from './retry-after.ts';

/** The limits of retries. */
export interface RetryOptions {
  /** The function that sends a request. @default the global `fetch` */
  readonly fetch?: typeof fetch;
  /**
   * Maximum number of times that one request is sent.
   * @default 3
   */
  readonly tries?: number;
  /**
   * Maximum total delay between the tries of one request, in milliseconds. A longer delay than remains is not started.
   * @default 60_000
   */
  readonly maxWaitMs?: number;
  /** Called before each wait, for a countdown. */
  readonly onWait?: (wait: RetryWait) => void;
}

/** A wait before a request is sent again. */
export interface RetryWait {
  /** Its duration in milliseconds. */
  readonly ms: number;
  /** How often the request was sent so far. */
  readonly tries: number;
}

/** Statuses of a proxy while the gateway is busy or unavailable. */
const PASSING = [429, 502, 503, 504];

/** First delay if none is given, in milliseconds; the next is twice as long. */
const BACK_OFF_MS = 1000;

/**
 * A `fetch` that retries after the codes `BUDGET_EXHAUSTED`, `UPSTREAM_UNAVAILABLE` and `UPSTREAM_TIMEOUT`, with
 * the delay of `retryAfterMs` or `Retry-After`, and up to a fifth longer, so that clients do not retry all at
 * once. A query is repeated after a lost connection too, and while some of its fields fail temporarily. A possible
 * mutation is repeated only if each error says that nothing was changed: not after a lost connection,
 * `OUTCOME_UNKNOWN`, or a response with data for any field.
 *
 * After the last attempt, the last response is returned. The signal of the request ends a wait, with its reason.
 * Responses other than JSON, such as streams and incremental ones, are returned unchanged, as are responses to
 * requests whose body can be read only once.
 */
export function retryingFetch(options: RetryOptions = {}): typeof fetch {
  const { maxWaitMs = 60_000, onWait, tries: most = 3 } = options;
  return async (input, init) => {
    // Uses the current global `fetch`, which can be replaced later.
    const { fetch: send = fetch } = options;
    const signal = init?.signal ?? (input as Request).signal;
    let leftMs = maxWaitMs;
    for (let tries = 1; ; tries += 1) {
      let answer: Response | undefined;
      let failure: unknown;
      let ms: number | null = null;
      try {
        answer = await send(input, init);
      } catch (error) {
        failure = error;
        // The network failed; the caller did not cancel.
        if (tries < most && error instanceof TypeError && isQuery(input, init))
          ms = backOffMs(tries);
      }
      if (answer && tries < most && isRepeatable(input, init)) {
        ms = await waitMs(answer, isQuery(input, init), tries);
      }
      signal?.throwIfAborted();
      if (ms === null || ms > leftMs) {
        if (answer) return answer;
        throw failure;
      }
      // The body is not needed, so a failure here does not matter.
      answer?.body?.cancel().catch(() => {});
      ms = Math.min(leftMs, ms * (1 + Math.random() / 5));
      leftMs -= ms;
      onWait?.({ ms, tries });
      await pause(ms, signal);
    }
  };
}

const backOffMs = (tries: number): number => BACK_OFF_MS * 2 ** (tries - 1);

/** The delay before a retry, according to the response; `null` if there is none. */
async function waitMs(answer: Response, query: boolean, tries: number): Promise<number | null> {
  const { headers, status } = answer;
  const busyMs =
    query && PASSING.includes(status) ? Math.max(backOffMs(tries), headerMs(headers)) : null;
  if (!/^application\/([\w.-]+\+)?json/i.test(headers.get('content-type') ?? '')) return busyMs;
  let text: string;
  try {
    text = await answer.clone().text();
  } catch {
    // The connection was lost within the response.
    return query ? backOffMs(tries) : null;
  }
  const { data, errors } = read(text);
  if (!Array.isArray(errors)) return busyMs;
  const isUndone =
    Object.values(Object(data)).every((field) => field === null) &&
    // A failure at a deeper path concerns a field of a completed change.
    errors.every((error) => isForNow(error) && !(error.path?.length > 1));
  return query || isUndone ? retryAfterMs(errors, headers) : null;
}

/** The parsed response, if it can contain errors: a large one without them is not parsed twice. */
function read(text: string): { data?: unknown; errors?: unknown } {
  try {
    return text.includes('"errors"') ? Object(JSON.parse(text)) : {};
  } catch {
    // Not a response of the gateway.
    return {};
  }
}

/** Whether the body of a request, if it has one, can be sent twice. */
function isRepeatable(input: RequestInfo | URL, init: RequestInit | undefined): boolean {
  const { body = (input as Request).body } = init ?? {};
  return !(body && (body instanceof ReadableStream || Symbol.asyncIterator in Object(body)));
}

/** Whether a request certainly changes nothing. An operation sent only by its id may be a mutation. */
function isQuery(input: RequestInfo | URL, init: RequestInit | undefined): boolean {
  const { body, method = (input as Request).method ?? 'GET' } = init ?? {};
  if (method.toUpperCase() === 'GET') return true;
  try {
    const { query } = JSON.parse(body as string) as { query?: unknown };
    return typeof query === 'string' && !/\bmutation\b/.test(query);
  } catch {
    return false;
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop);
  });
}
