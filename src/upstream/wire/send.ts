import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, inflateRaw, unzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type Clock, Deadline } from '../../scheduling/clock.ts';
import type { RawAnswer } from '../request.ts';
import { MAX_ANSWER_BYTES } from './undici.ts';

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

/**
 * Sends one request and reads its whole response. Follows no redirect and retries nothing, so one call is one
 * upstream request.
 * @throws WireError if no complete response arrived in time.
 */
export async function sendOverWire(
  { clock, dispatcher }: { readonly dispatcher: Dispatcher; readonly clock: Clock },
  { method, url, headers, body, stream, timeoutMs, mayLeave }: WireRequest,
): Promise<RawAnswer> {
  const answer = new WireAnswer(mayLeave);
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
    const { body: packed, ...head } = await answer.whole;
    return { ...head, text: (await unpacked(packed, head.headers)).toString() };
  } catch (cause) {
    if (cause === TOO_LATE) throw new WireError('late');
    // The head of a request is sent with the first piece of its stream.
    if (flow && !flow.begun) throw new WireError('unsent', cause, flow.broken);
    if (flow?.broken) throw new WireError('lost', cause, true);
    // It was never connected: without a listener, or because of its name or TLS.
    if (!answer.hasLeft) throw new WireError('unsent', cause);
    throw new WireError(answer.isAborted ? 'timeout' : 'lost', cause);
  } finally {
    flow?.end();
    deadline.end();
  }
}

/** Why a request that was too late was not sent, */
const TOO_LATE = new Error('it is too late to send it');
/** ... or whose deadline has passed. */
const ABORTED = new Error('its deadline has passed');

/** A response as it came. */
interface Packed extends Omit<RawAnswer, 'text'> {
  readonly body: Buffer;
}

/** The response to one request, assembled as it arrives: a stream would take several times the processor time. */
class WireAnswer implements Dispatcher.DispatchHandler {
  /** Rejects with the error that ends the exchange early. */
  readonly whole: Promise<Packed>;
  /** Whether its time expired before it was complete. */
  isAborted = false;
  readonly #mayLeave: (() => boolean) | undefined;
  #resolve = (_answer: Packed): void => {};
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

  /** Whether its first byte may have been sent. */
  get hasLeft(): boolean {
    return this.#controller !== null;
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
    this.#resolve({ ...this.#head, body });
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

const unpackers = {
  zlib: promisify(unzip),
  raw: promisify(inflateRaw),
  br: promisify(brotliDecompress),
} as const;

/**
 * Unpacks a body that was compressed although nobody asked for it, up to the size limit. A body that cannot be unpacked
 * stays as it is, for its header may be wrong.
 */
async function unpacked(body: Buffer, headers: RawAnswer['headers']): Promise<Buffer> {
  const encodings = [headers['content-encoding'] ?? ''].flat().join().toLowerCase();
  const limit = { maxOutputLength: MAX_ANSWER_BYTES };
  let bytes = body;
  try {
    for (const encoding of encodings.split(',').slice(-2).toReversed()) {
      const isZipped = /^\s*(?:x-)?(?:gzip|deflate)\s*$/.test(encoding);
      // Some send `deflate` without the header of its format.
      const hasHeader = ((bytes[0] ?? 0) & 0x0f) === 8 || bytes[0] === 0x1f;
      if (bytes.length === 0) return bytes;
      if (isZipped) bytes = await unpackers[hasHeader ? 'zlib' : 'raw'](bytes, limit);
      else if (encoding.trim() === 'br') bytes = await unpackers.br(bytes, limit);
    }
    return bytes;
  } catch {
    return body;
  }
}
