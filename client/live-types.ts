import type { LivePatch } from './document.ts';

/** The part of a page that shows the result: while it is not visible, nothing is kept current. */
export interface LivePage {
  readonly visibilityState: string;
  addEventListener(type: 'visibilitychange', listener: () => void): void;
  removeEventListener(type: 'visibilitychange', listener: () => void): void;
}

/** What to ask, and how. */
export interface LiveOptions {
  /** Where the gateway answers GraphQL. */
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
   * Where streams do not get through, how long to wait between two answers, in milliseconds.
   * @default 30_000
   */
  readonly pollMs?: number;
  /**
   * How long the gateway may let a poll wait for its turn under the rate limits, in seconds.
   * @default 5
   */
  readonly waitSeconds?: number;
  /** Whose visibility counts; `null` for none. @default the page, if there is one */
  readonly document?: LivePage | null;
  /**
   * Called when the state changes, and once the first request has come to something. `ageMs` is how old the oldest part
   * of the answer is at that moment, in milliseconds; `null` while there is none. Not called when the page stops it.
   */
  readonly onState?: (state: LiveState, about: { readonly ageMs: number | null }) => void;
}

/** Headers by their names. */
type HeaderValues = Readonly<Record<string, string>>;

/**
 * Whether the answer is kept current: `open` over a stream, `polling` by asking from time to time. `waiting` is not now:
 * the connection is broken or refused, and is made again; `ended` is not any more. A gateway that is gone without a word
 * is noticed after 40 seconds of silence.
 */
export type LiveState = 'open' | 'waiting' | 'polling' | 'ended';

/** An error as GraphQL has it; `extensions.code` says which. */
export interface LiveError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** The answer as it is now. What is as it was before is the same object as before. */
export interface LiveResult<T> {
  /** `null` where errors left nothing of it. */
  readonly data: T | null;
  readonly errors?: readonly LiveError[];
  /** How old the oldest part of it is and when that is probably read again. Not there while polling. */
  readonly live?: {
    readonly revision: number;
    readonly ageMs: number;
    readonly nextRefreshInMs: number | null;
  };
  /** What it cost upstream, where the gateway sent it. */
  readonly upstream?: unknown;
}

/** Why there will be no further result: asking again in the same way would be refused again. */
export interface LiveEnd {
  /** Of the answer over HTTP. */
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
