import { share } from './document.ts';
import { parser } from './events.ts';
import type {
  LiveEnd,
  LiveError,
  LiveOptions,
  LivePage,
  LiveResult,
  LiveState,
  Message,
  Upstream,
} from './live-types.ts';
import { headerMs } from './retry-after.ts';

/** The gateway sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;

/**
 * Sends a live query, and calls `onResult` with every result until the returned function is called, or until the
 * gateway ends it finally and `onEnd` receives the reason. A lost connection is restored. If streams
 * are blocked, it polls. Throws nothing: exceptions of `onResult` are written to the console.
 */
export function live<T>(
  options: LiveOptions,
  onResult: (result: LiveResult<T>) => void,
  onEnd?: (end: LiveEnd) => void,
): () => void {
  // In Node.js, neither exists.
  const world = globalThis as Partial<
    Pick<EventTarget, 'addEventListener' | 'removeEventListener'>
  > & {
    document?: LivePage;
  };
  const {
    document: page = world.document,
    headers,
    onState,
    pollMs = 30_000,
    waitSeconds = 5,
  } = options;
  const asks = typeof headers === 'function';
  let polling = false;
  /** Whether any stream has ever delivered an event. */
  let streamed = false;
  let failures = 0;
  let dueAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Belongs to the current request. A request that finds another one here is outdated. */
  let current: AbortController | undefined;
  let result: LiveResult<T> | undefined;
  /** When the oldest part of the result was read. */
  let readAt = 0;
  /** Whether the result is kept current. */
  let isFresh = false;
  let state: LiveState | undefined;
  /** Whether the headers of the previous request were rejected. */
  let refusedHeaders = false;
  /** Whether it waits because of a lost connection, and not at the gateway's request. */
  let broke = false;
  /** The delay before a reconnect, as the stream stated it last. */
  let retryMs: number | undefined;

  const call = <V extends unknown[]>(
    listener: ((...values: V) => void) | undefined,
    ...values: V
  ): void => {
    try {
      listener?.(...values);
    } catch (error) {
      console.error(error);
    }
  };
  const enter = (next: LiveState = !isFresh ? 'waiting' : polling ? 'polling' : 'open'): void => {
    if (state === next) return;
    state = next;
    call(onState, next, { ageMs: result ? Date.now() - readAt : null });
  };
  const backOffMs = (): number =>
    Math.min(30_000, 1000 * 2 ** failures++) * (0.5 + Math.random() / 2);

  const drop = (): void => {
    current?.abort();
    current = undefined;
    isFresh = false;
  };
  const stop = (): void => {
    drop();
    clearTimeout(timer);
    listen('removeEventListener');
  };
  /** Ends finally, unless new headers can help: then returns when to retry with them. */
  const end = (status: number, errors: readonly LiveError[] | undefined): number => {
    const isUnknown =
      status === 401 ||
      errors?.some(({ extensions }) => /UNAUTH/.test(extensions?.['code'] as string));
    if (isUnknown && !refusedHeaders && asks) {
      refusedHeaders = true;
    } else {
      stop();
      enter('ended');
      call(onEnd, { status, errors });
    }
    return 0;
  };
  /** Continues at the scheduled time, or once the page is visible. */
  const look = (): void => {
    clearTimeout(timer);
    if (page?.visibilityState === 'hidden') {
      // A running poll has already cost its requests.
      if (polling) return;
      drop();
      enter();
    } else if (!current) {
      timer = setTimeout(() => void run(), Math.max(0, dueAt - Date.now()));
    }
  };

  /** The network is back: earlier connections may be dead. */
  const online = (): void => {
    if (broke || (current && !polling)) {
      drop();
      failures = dueAt = 0;
      look();
      enter();
    }
  };

  const listen = (change: 'addEventListener' | 'removeEventListener'): void => {
    page?.[change]('visibilitychange', look);
    world[change]?.('online', online);
  };

  const show = (next: LiveResult<T>): void => {
    const { live, upstream } = (result = next);
    readAt = Date.now() - (live?.ageMs ?? (upstream as Upstream)?.maxAgeMs ?? 0);
    isFresh = true;
    refusedHeaders = false;
    enter();
    // A listener may have stopped it.
    if (current) call(onResult, next);
  };
  const notify = ({ data, errors, extensions = {} }: Message): void => {
    const { live, upstream } = extensions;
    show({
      data: share(result?.data, data),
      ...(errors && { errors }),
      ...(live && { live }),
      ...(upstream && { upstream }),
    } as LiveResult<T>);
  };

  /**
   * When to retry according to the gateway; 0 if it does not say. Spread, so that clients do not retry all at
   * once.
   */
  const laterMs = ({ headers }: Response, errors: readonly LiveError[] = []): number => {
    const ms = Math.max(
      ...errors.map(({ extensions }) => (extensions?.['retryAfterMs'] as number) ?? 0),
      headerMs(headers),
    );
    return ms > 0 ? Math.max(1000, ms) * (1 + Math.random() / 5) : 0;
  };
  /** Ends finally unless a retry can succeed; returns when to retry. */
  const refused = (response: Response, errors?: readonly LiveError[]): number => {
    const { status } = response;
    const ms = laterMs(response, errors);
    const passes = status >= 500 || [408, 425, 429].includes(status) || (status < 300 && !errors);
    return ms || (passes ? backOffMs() : end(status, errors));
  };

  /** Processes a response that is not a stream, and returns when to send the next request. */
  const whole = async (response: Response, isCurrent: () => boolean): Promise<number> => {
    const text = await response.text();
    if (!isCurrent()) return 0;
    let message: Message | undefined;
    try {
      message = JSON.parse(text);
    } catch {
      // Not a response of the gateway.
    }
    if (message?.data !== undefined) {
      polling = true;
      failures = 0;
      notify(message);
      return laterMs(response, message.errors) || pollMs;
    }
    // The server does not support streams.
    if (polling || response.status !== 406) return refused(response, message?.errors);
    polling = true;
    return 0;
  };

  /**
   * Reads a stream to its end, and returns when to send the next request; `undefined` if the connection was lost.
   */
  const follow = async (
    response: Response,
    isCurrent: () => boolean,
    heard: () => void,
  ): Promise<number | undefined> => {
    const { body } = response;
    if (!body) {
      polling = true;
      return 0;
    }
    let events = 0;
    let reason: readonly LiveError[] | undefined;
    const parse = parser((ms) => {
      retryMs = ms;
    });
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      heard();
      for (const [type, text] of parse(value)) {
        // A listener may have stopped it.
        if (!isCurrent()) return undefined;
        const message: Message = text ? JSON.parse(text) : {};
        const { extensions: { live } = {} } = message;
        streamed = true;
        // One event may arrive before each failure: only several events show a working connection.
        if (events++) failures = 0;
        if (type === 'next') {
          if (message.data === undefined) reason = message.errors;
          else notify(message);
        } else if (type === 'age') {
          if (result) show({ ...result, live } as LiveResult<T>);
        } else if (type === 'complete') {
          if (reason || !result) return refused(response, reason);
          // A single response, from a server without live queries.
          polling = true;
          return pollMs;
        }
      }
    }
  };

  async function run(): Promise<void> {
    const control = new AbortController();
    current = control;
    const isCurrent = (): boolean => current === control;
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = (moreMs = 0): void => {
      clearTimeout(silence);
      silence = setTimeout(() => {
        // A proxy holds streams back.
        polling ||= !streamed;
        control.abort();
      }, SILENCE_MS + moreMs);
    };
    let waitMs: number | undefined;
    isFresh = false;
    try {
      heard(waitSeconds * 1000);
      const { fetch: ask = fetch } = options;
      const response = await ask(options.url, {
        method: 'POST',
        headers: {
          ...(asks ? await headers(refusedHeaders) : headers),
          'content-type': 'application/json',
          ...(polling
            ? { accept: 'application/json', prefer: `wait=${waitSeconds}` }
            : { accept: 'text/event-stream;live=age' }),
        },
        body: JSON.stringify(options.body),
        signal: control.signal,
      });
      waitMs = /^text\/event-stream/i.test(response.headers.get('content-type') as string)
        ? await follow(response, isCurrent, heard)
        : await whole(response, isCurrent);
    } catch {
      // Lost, silent or invalid: the page reconnects in each case.
    } finally {
      clearTimeout(silence);
      control.abort();
    }
    if (!isCurrent()) return;
    current = undefined;
    waitMs ??= retryMs;
    broke = !waitMs;
    dueAt = Date.now() + (waitMs ?? backOffMs());
    retryMs = undefined;
    // Without the stream, the result is no longer kept current.
    isFresh &&= polling;
    look();
    // Last, because its listener may stop the query.
    enter();
  }

  listen('addEventListener');
  look();
  return stop;
}
