import { backOffMs, type RetryWait, repeat } from './repeat.ts';
import { headerMs, isForNow, retryAfterMs } from './retry-after.ts';

export type { RetryWait } from './repeat.ts';

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

/** Statuses of a proxy while the gateway is busy or unavailable. */
const PASSING = [429, 502, 503, 504];

/**
 * A `fetch` that retries after the codes `BUDGET_EXHAUSTED`, `UPSTREAM_UNAVAILABLE`, `UPSTREAM_TIMEOUT` and
 * `IDEMPOTENCY_KEY_IN_USE`, with the delay of `retryAfterMs` or `Retry-After`, and up to a fifth longer, so that
 * clients do not retry all at once. A query is repeated after a lost connection too, and while some of its fields fail
 * temporarily; a request with the header `Idempotency-Key` also after `OUTCOME_UNKNOWN`, if it has a `retryAfterMs`.
 * Another possible mutation is repeated only if each error says that nothing was changed: not after a lost connection,
 * `OUTCOME_UNKNOWN`, or a response with data for any field.
 *
 * After the last attempt, the last response is returned. The signal of the request ends a wait, with its reason.
 * Responses other than JSON, such as streams and incremental ones, are returned unchanged, as are responses to
 * requests whose body can be read only once.
 */
export function retryingFetch(options: RetryOptions = {}): typeof fetch {
  const { maxWaitMs = 60_000, onWait, tries = 3 } = options;
  return async (input, init) => {
    // Uses the current global `fetch`, which can be replaced later.
    const { fetch: send = fetch } = options;
    const signal = init?.signal ?? (input as Request).signal;
    const isKeyed = new Headers(init?.headers ?? (input as Request).headers).has('idempotency-key');
    const isSafe = isKeyed || isQuery(input, init);
    let last: Response | undefined;
    return repeat(
      () => send(input, init),
      async (answer, tried) => {
        last = undefined;
        try {
          last = await answer;
        } catch (error) {
          // The network failed; the caller did not cancel.
          return error instanceof TypeError && isSafe ? backOffMs(tried) : null;
        }
        return waitMs(last, isSafe, isKeyed, tried);
      },
      {
        maxWaitMs,
        signal,
        tries: isRepeatable(input, init) ? tries : 1,
        onWait(wait) {
          // The body is not needed, so a failure here does not matter.
          last?.body?.cancel().catch(() => {});
          onWait?.(wait);
        },
      },
    );
  };
}

/** The delay before a retry, according to the response; `null` if there is none. */
async function waitMs(
  answer: Response,
  isSafe: boolean,
  isKeyed: boolean,
  tries: number,
): Promise<number | null> {
  const { headers, status } = answer;
  const busyMs =
    isSafe && PASSING.includes(status) ? Math.max(backOffMs(tries), headerMs(headers)) : null;
  if (!/^application\/([\w.-]+\+)?json/i.test(headers.get('content-type') ?? '')) return busyMs;
  let text: string;
  try {
    text = await answer.clone().text();
  } catch {
    // The connection was lost within the response.
    return isSafe ? backOffMs(tries) : null;
  }
  const { data, errors } = read(text);
  if (!Array.isArray(errors)) return busyMs;
  const isUndone =
    Object.values(Object(data)).every((field) => field === null) &&
    // A failure at a deeper path concerns a field of a completed change.
    errors.every((error) => isForNow(error) && !(error.path?.length > 1));
  return isSafe || isUndone ? retryAfterMs(errors, headers, isKeyed) : null;
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
