/** The part of a page that shows the result: while it is not visible, nothing is kept current. */
export interface LivePage {
  readonly visibilityState: string;
  addEventListener(type: 'visibilitychange', listener: () => void): void;
  removeEventListener(type: 'visibilitychange', listener: () => void): void;
}

/** The query and its options. */
export interface LiveOptions {
  /** The URL of the GraphQL endpoint. */
  readonly url: string;
  /** Sent as JSON: `query`, `variables`, `operationName`, or `extensions` for a persisted operation. */
  readonly body: object;
  /**
   * Sent with every request. A function is called for each request, so that it can renew a token; its argument is `true`
   * if the previous headers were rejected. The query ends only if the next headers are rejected too.
   */
  readonly headers?: HeaderValues | ((refused: boolean) => HeaderValues | Promise<HeaderValues>);
  /** @default the global `fetch` */
  readonly fetch?: typeof fetch;
  /**
   * Interval of polling in milliseconds, used if streams are blocked.
   * @default 30_000
   */
  readonly pollMs?: number;
  /**
   * Maximum time in seconds that a poll may wait for a slot of the rate limit.
   * @default 5
   */
  readonly waitSeconds?: number;
  /** The document whose visibility counts; `null` for none. @default the page, if there is one */
  readonly document?: LivePage | null;
  /**
   * Called when the state changes, and when the first request has a result. `ageMs` is the age of the oldest data
   * in milliseconds at that time; `null` if there is none. Not called when the page stops the query.
   */
  readonly onState?: (state: LiveState, about: { readonly ageMs: number | null }) => void;
}

/** Headers by name. */
type HeaderValues = Readonly<Record<string, string>>;

/**
 * Whether the response is kept current: `open` over a stream, `polling` at intervals, `waiting` while the
 * connection is lost or refused and will be restored, `ended` finally. A gateway that vanished without closing
 * the connection is detected after 40 seconds without an event.
 */
export type LiveState = 'open' | 'waiting' | 'polling' | 'ended';

/** A GraphQL error; `extensions.code` is its kind. */
export interface LiveError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** The current result. Unchanged parts are the same objects as before. */
export interface LiveResult<T> {
  /** `null` if errors left no data. */
  readonly data: T | null;
  readonly errors?: readonly LiveError[];
  /** The age of its oldest part, and when that is probably refreshed. Missing while polling. */
  readonly live?: {
    readonly revision: number;
    readonly ageMs: number;
    readonly nextRefreshInMs: number | null;
  };
  /** The upstream cost, if the gateway sent it. */
  readonly upstream?: unknown;
}

/** Why there is no further result: the same request would be rejected again. */
export interface LiveEnd {
  /** The HTTP status of the response. */
  readonly status: number;
  readonly errors?: readonly LiveError[] | undefined;
}

/** A message of the gateway; its members depend on the event. */
export interface Message {
  data?: unknown;
  errors?: readonly LiveError[];
  extensions?:
    | undefined
    | {
        live?: NonNullable<LiveResult<unknown>['live']>;
        upstream?: { maxAgeMs?: number };
      };
}

/** The members of the receipt that are read here. */
export type Upstream = NonNullable<Message['extensions']>['upstream'];
