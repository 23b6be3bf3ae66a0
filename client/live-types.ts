import type { LivePatch } from './document.ts';

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
   * Sent with every request. A function is called for each, so that a token may be renewed; `true` says that the headers
   * before were refused. The query ends only if the ones it gives then are refused too.
   */
  readonly headers?: HeaderValues | ((refused: boolean) => HeaderValues | Promise<HeaderValues>);
  /** @default the page's own */
  readonly fetch?: typeof fetch;
  /**
   * Interval of polling in milliseconds, used if streams are blocked.
   * @default 30_000
   */
  readonly pollMs?: number;
  /**
   * How long the gateway may let a poll wait for its turn under the rate limits, in seconds.
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

/** Headers by their names. */
type HeaderValues = Readonly<Record<string, string>>;

/**
 * Whether the response is being kept current: `open` over a stream, `polling` at intervals, `waiting` while the
 * connection is lost or refused and will be restored, `ended` for good. A gateway that vanished without closing
 * the connection is detected after 40 seconds without an event.
 */
export type LiveState = 'open' | 'waiting' | 'polling' | 'ended';

/** An error as GraphQL has it; `extensions.code` says which. */
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
  /** How old the oldest part of it is and when that is probably read again. Not there while polling. */
  readonly live?: {
    readonly revision: number;
    readonly ageMs: number;
    readonly nextRefreshInMs: number | null;
  };
  /** The upstream cost, if the gateway sent it. */
  readonly upstream?: unknown;
}

/** Why there will be no further result: the same request would be refused again. */
export interface LiveEnd {
  /** The HTTP status of the response. */
  readonly status: number;
  readonly errors?: readonly LiveError[] | undefined;
}

/** A message of the gateway; which members it has depends on its event. */
export interface Message {
  data?: unknown;
  errors?: readonly LiveError[];
  patch?: readonly LivePatch[];
  extensions?:
    | undefined
    | {
        live?: NonNullable<LiveResult<unknown>['live']> & { from?: number };
        upstream?: { maxAgeMs?: number };
      };
  reconnectInMs?: number | null;
}

/** The receipt, as far as it is read. */
export type Upstream = NonNullable<Message['extensions']>['upstream'];
