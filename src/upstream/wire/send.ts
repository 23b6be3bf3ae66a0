import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type Clock, Deadline } from '../../scheduling/clock.ts';
import type { RawAnswer } from '../request.ts';
import { DecoratorHandler, errors, sendRequest } from './undici.ts';

/** A request with everything on it, ready for the wire. */
export interface WireRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Bytes in the place of `body`. A request ends with the last of them, or is cut off. */
  readonly stream: AsyncIterable<Uint8Array> | null;
  /**
   * For the whole exchange; with a `stream`, for the pieces to be taken that wait in the socket, then for the
   * answer.
   */
  readonly timeoutMs: number;
  /** Whether it may still leave, asked in the turn in which its first byte does; by default it may. */
  readonly mayLeave?: (() => boolean) | undefined;
}

/** Why no answer came. */
export class WireError extends Error {
  override readonly name = 'WireError';
  /**
   * `unsent`: the upstream cannot have seen it. `late`: nor this, for it might not leave any more. `lost`: it
   * can. `timeout`: it can, and was slow.
   */
  readonly kind: 'unsent' | 'late' | 'lost' | 'timeout';
  /** True where the bytes to send have ended early: the upstream did nothing wrong. */
  readonly byCaller: boolean;
  constructor(kind: WireError['kind'], cause?: unknown, byCaller = false) {
    super(`no answer (${kind})`, { cause });
    this.kind = kind;
    this.byCaller = byCaller;
  }
}

/** Failures that happen before a byte of the request has left. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_INVALID_URL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Sends one request and reads its whole answer. Follows no redirect and retries nothing, so that one
 * call here is one request upstream.
 * @throws WireError when no complete answer came in time.
 */
export async function sendOverWire(
  wire: { readonly dispatcher: Dispatcher; readonly clock: Clock },
  { method, url, headers, body, stream, timeoutMs, mayLeave }: WireRequest,
): Promise<RawAnswer> {
  const abort = new AbortController();
  const deadline = new Deadline(wire.clock, () => abort.abort());
  const flow = stream && new Flow(stream, deadline, timeoutMs);
  deadline.set(timeoutMs);
  try {
    const dispatcher = mayLeave ? leavingOnly(wire.dispatcher, mayLeave) : wire.dispatcher;
    const { origin, pathname, search } = new URL(url);
    const answer = await sendRequest.call(dispatcher, {
      origin,
      path: `${pathname}${search}`,
      method,
      headers,
      // It takes what can be iterated, too, at less than a `Readable` costs; only its types do not say so.
      body: flow ? (flow as unknown as Readable) : body,
      signal: abort.signal,
      // Both count from the start of a long upload; the deadline knows better.
      ...(flow ? { headersTimeout: 0, bodyTimeout: 0 } : {}),
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  } catch (cause) {
    if (cause === TOO_LATE) throw new WireError('late');
    // The head of a request leaves with the first piece of its stream.
    if (flow && !flow.begun) throw new WireError('unsent', cause, flow.broken);
    if (flow?.broken) throw new WireError('lost', cause, true);
    if (abort.signal.aborted) throw new WireError('timeout', cause);
    throw new WireError(wasSent(cause) ? 'lost' : 'unsent', cause);
  } finally {
    flow?.end();
    deadline.end();
  }
}

/** Why a request that might not leave any more did not. */
const TOO_LATE = new Error('it may not leave any more');

/** A dispatcher whose requests are asked in the turn in which they are written whether they still may be. */
function leavingOnly(dispatcher: Dispatcher, mayLeave: () => boolean): Dispatcher {
  const dispatch: Dispatcher['dispatch'] = (options, handler) =>
    dispatcher.dispatch(options, new LeavingHandler(handler, mayLeave));
  return Object.create(dispatcher, { dispatch: { value: dispatch } }) as Dispatcher;
}

/** What the library's types do not say that it has. */
const decorated: Dispatcher.DispatchHandler = DecoratorHandler.prototype;

/** To throw here is to send nothing, and costs the connection nothing. */
class LeavingHandler extends DecoratorHandler {
  readonly #mayLeave: () => boolean;

  constructor(handler: Dispatcher.DispatchHandler, mayLeave: () => boolean) {
    super(handler);
    this.#mayLeave = mayLeave;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    if (!this.#mayLeave()) throw TOO_LATE;
    decorated.onRequestStart?.call(this, controller, context);
  }
}

/**
 * A stream in flight, read piece by piece as the upstream takes them. The deadline runs while the upstream is
 * waited for, not while the source is. Its failure fails the request, which is cut off and not ended.
 */
class Flow implements AsyncIterableIterator<Uint8Array> {
  /** Whether anything has been handed out. */
  begun = false;
  /** Whether its source has failed. */
  broken = false;
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #deadline: Deadline;
  readonly #timeoutMs: number;
  #over = false;

  constructor(source: AsyncIterable<Uint8Array>, deadline: Deadline, timeoutMs: number) {
    this.#source = source[Symbol.asyncIterator]();
    this.#deadline = deadline;
    this.#timeoutMs = timeoutMs;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    this.#deadline.lift();
    let next: IteratorResult<Uint8Array>;
    try {
      next = await this.#source.next();
    } catch (error) {
      this.broken = true;
      throw error;
    }
    // What is asked for on behalf of a request that is over must not seem to be its end.
    if (this.#over) throw new Error('The request is over');
    this.begun = true;
    this.#deadline.set(this.#timeoutMs);
    return next;
  }

  /** Nothing more is read. */
  end(): void {
    this.#over = true;
    // A generator that still waits for a piece returns once it has it.
    this.#source.return?.().catch(() => {});
  }
}

function wasSent(cause: unknown): boolean {
  if (cause instanceof errors.ConnectTimeoutError) return false;
  const codes = [cause, ...(cause instanceof AggregateError ? cause.errors : [])].map((error) =>
    error instanceof Error && 'code' in error ? String(error.code) : '',
  );
  return !codes.some((code) => UNSENT.has(code));
}
