import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type Clock, Deadline } from '../../scheduling/clock.ts';
import type { RawAnswer } from '../request.ts';
import { errors } from './undici.ts';

/** A complete request, ready to be sent. */
export interface WireRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Bytes in place of `body`. A request ends with the last of them, or is aborted. */
  readonly stream: AsyncIterable<Uint8Array> | null;
  /** For the whole exchange; with a `stream`, for sending the pieces in the socket, then for the response. */
  readonly timeoutMs: number;
  /** Whether it may still be sent, checked when its first byte is about to leave; by default it may. If so, it leaves. */
  readonly mayLeave?: (() => boolean) | undefined;
}

/** Why there is no response. */
export class WireError extends Error {
  override readonly name = 'WireError';
  /**
   * `unsent`: the upstream cannot have received it. `late`: not sent, because it was too late. `lost`: the upstream can
   * have received it. `timeout`: it can have received it, and was slow.
   */
  readonly kind: 'unsent' | 'late' | 'lost' | 'timeout';
  /** True if the bytes to send ended early: the upstream did nothing wrong. */
  readonly byCaller: boolean;
  constructor(kind: WireError['kind'], cause?: unknown, byCaller = false) {
    super(`no response (${kind})`, { cause });
    this.kind = kind;
    this.byCaller = byCaller;
  }
}

/** Failures that happen before a byte of the request is sent. */
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
 * Sends one request and reads its whole response. Follows no redirect and retries nothing, so one call is one
 * upstream request.
 * @throws WireError if no complete response arrived in time.
 */
export async function sendOverWire(
  { clock, dispatcher }: { readonly dispatcher: Dispatcher; readonly clock: Clock },
  { method, url, headers, body, stream, timeoutMs, mayLeave }: WireRequest,
): Promise<RawAnswer> {
  const answer = new Answer(mayLeave);
  const deadline = new Deadline(clock, () => answer.abort());
  const flow = stream && new Flow(stream, deadline, timeoutMs);
  deadline.set(timeoutMs);
  try {
    const { origin, pathname, search } = new URL(url);
    const options: Dispatcher.DispatchOptions = {
      origin,
      path: `${pathname}${search}`,
      method,
      headers,
      // Accepts iterables too, at a lower cost than a `Readable`; only its types lack them.
      body: flow ? (flow as unknown as Readable) : body,
      // Both count from the start of a long upload; the deadline is used instead.
      ...(flow ? { headersTimeout: 0, bodyTimeout: 0 } : {}),
    };
    dispatcher.dispatch(options, answer);
    return await answer.whole;
  } catch (cause) {
    if (cause === TOO_LATE) throw new WireError('late');
    // The head of a request is sent with the first piece of its stream.
    if (flow && !flow.begun) throw new WireError('unsent', cause, flow.broken);
    if (flow?.broken) throw new WireError('lost', cause, true);
    if (answer.isAborted) throw new WireError('timeout', cause);
    throw new WireError(wasSent(cause) ? 'lost' : 'unsent', cause);
  } finally {
    flow?.end();
    deadline.end();
  }
}

/** Why a request that was too late was not sent, */
const TOO_LATE = new Error('it is too late to send it');
/** ... or whose deadline has passed. */
const ABORTED = new Error('its deadline has passed');

/** The response to one request, assembled as it arrives: a stream would take several times the processor time. */
class Answer implements Dispatcher.DispatchHandler {
  /** Rejects with the error that ends the exchange early. */
  readonly whole: Promise<RawAnswer>;
  /** Whether its time expired before it was complete. */
  isAborted = false;
  readonly #mayLeave: (() => boolean) | undefined;
  #resolve = (_answer: RawAnswer): void => {};
  #reject = (_error: unknown): void => {};
  #controller: Dispatcher.DispatchController | null = null;
  #head: Pick<RawAnswer, 'status' | 'headers'> = { status: 0, headers: {} };
  readonly #body: Buffer[] = [];

  constructor(mayLeave: (() => boolean) | undefined) {
    this.#mayLeave = mayLeave;
    this.whole = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Aborts the exchange: immediately if the request was sent; otherwise it is not sent. */
  abort(): void {
    this.isAborted = true;
    this.#controller?.abort(ABORTED);
  }

  /** Called in the turn in which the request is written. If it throws, nothing is sent, and the connection stays usable. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.isAborted) throw ABORTED;
    if (this.#mayLeave && !this.#mayLeave()) throw TOO_LATE;
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: RawAnswer['headers'],
  ): void {
    this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#body.push(piece);
  }

  onResponseEnd(): void {
    const [first, ...rest] = this.#body;
    const body = first && rest.length === 0 ? first : Buffer.concat(this.#body);
    this.#resolve({ ...this.#head, text: body.toString() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: unknown): void {
    this.#reject(error);
  }
}

/**
 * A stream in flight, read piece by piece as the upstream accepts them. The deadline runs while the upstream is awaited,
 * not while the source is. If the source fails, the request is aborted.
 */
class Flow implements AsyncIterableIterator<Uint8Array> {
  /** Whether any piece was read. */
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
    // Calls for a request that has already ended must not look like its end.
    if (this.#over) throw new Error('The request is over');
    this.begun = true;
    this.#deadline.set(this.#timeoutMs);
    return next;
  }

  /** Stops reading. */
  end(): void {
    this.#over = true;
    // A generator that waits for a piece returns when it has the piece.
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
