import { headerMs, isForNow, retryAfterMs } from './retry-after.ts';

/** How long and how often to try. */
export interface RetryOptions {
  /** What sends a request. @default the global `fetch` */
  readonly fetch?: typeof fetch;
  /**
   * How often one request is sent at most.
   * @default 3
   */
  readonly tries?: number;
  /**
   * How long one request may wait between its tries in all, in milliseconds. A wait that would be longer than what is
   * left of it is not begun.
   * @default 60_000
   */
  readonly maxWaitMs?: number;
  /** Called before each wait, for a countdown. */
  readonly onWait?: (wait: RetryWait) => void;
}

/** A wait before a request is sent again. */
export interface RetryWait {
  /** How long it takes, in milliseconds. */
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
    // One that is put in the place of the global one later is to be used.
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
        // A network that is gone, and not a caller that is.
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
      // It is not read, so that it does not matter if that fails.
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
    // The connection broke in the middle of it.
    return query ? backOffMs(tries) : null;
  }
  const { data, errors } = read(text);
  if (!Array.isArray(errors)) return busyMs;
  const isUndone =
    Object.values(Object(data)).every((field) => field === null) &&
    // What failed further down is a field of something that was done.
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

/** Whether a request changes nothing for certain: an operation sent by its id alone may be a mutation. */
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
