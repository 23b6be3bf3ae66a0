import { Readable } from 'node:stream';
import { type Dispatcher, errors, request } from 'undici';
import type { Clock } from '../../clock.ts';
import type { RawAnswer } from '../request.ts';

/** A request with everything on it, ready for the wire. */
export interface WireRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Bytes in the place of `body`. A request ends with the last of them, or is cut off. */
  readonly stream: AsyncIterable<Uint8Array> | null;
  /** For the whole exchange; with a `stream`, for each piece of it to be taken, then for the answer. */
  readonly timeoutMs: number;
}

/** Why no answer came. */
export class WireError extends Error {
  override readonly name = 'WireError';
  /** `unsent`: the upstream cannot have seen it. `lost`: it can. `timeout`: it can, and was slow. */
  readonly kind: 'unsent' | 'lost' | 'timeout';
  /** True where the bytes to send have ended early: the upstream did nothing wrong. */
  readonly byCaller: boolean;
  constructor(kind: 'unsent' | 'lost' | 'timeout', cause?: unknown, byCaller = false) {
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
  { method, url, headers, body, stream, timeoutMs }: WireRequest,
): Promise<RawAnswer> {
  const abort = new AbortController();
  const deadline = new Deadline(wire.clock, timeoutMs, () => abort.abort());
  const flow = stream && new Flow(stream, deadline);
  deadline.begin();
  try {
    const answer = await request(url, {
      dispatcher: wire.dispatcher,
      method,
      headers,
      body: flow?.readable ?? body,
      signal: abort.signal,
      // Both count from the start of a long upload; the deadline knows better.
      ...(flow ? { headersTimeout: 0, bodyTimeout: 0 } : {}),
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  } catch (cause) {
    // The head of a request leaves with the first piece of its stream.
    if (flow && !flow.begun) throw new WireError('unsent', cause, flow.broken);
    if (flow?.broken) throw new WireError('lost', cause, true);
    if (abort.signal.aborted) throw new WireError('timeout', cause);
    throw new WireError(wasSent(cause) ? 'lost' : 'unsent', cause);
  } finally {
    flow?.readable.destroy();
    deadline.end();
  }
}

/** A timer that can begin anew. */
class Deadline {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #task: () => void;
  #cancel = (): void => {};

  constructor(clock: Clock, ms: number, task: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#task = task;
  }

  begin(): void {
    this.#cancel();
    this.#cancel = this.#clock.after(this.#ms, this.#task);
  }

  end(): void {
    this.#cancel();
  }
}

/** A stream in flight. The deadline runs while the upstream is waited for, not while the source is. */
class Flow {
  /** Holds one piece at most. Its failure fails the request, which is cut off and not ended. */
  readonly readable: Readable;
  /** Whether anything has been handed out. */
  begun = false;
  /** Whether its source has failed. */
  broken = false;

  constructor(source: AsyncIterable<Uint8Array>, deadline: Deadline) {
    this.readable = Readable.from(this.#pass(source, deadline));
    // It can fail after the answer has come, when no listener is left.
    this.readable.on('error', () => {});
  }

  async *#pass(source: AsyncIterable<Uint8Array>, deadline: Deadline): AsyncGenerator<Uint8Array> {
    deadline.end();
    for await (const piece of this.#watch(source)) {
      if (this.readable.destroyed) return;
      this.begun = true;
      deadline.begin();
      yield piece;
      deadline.end();
    }
    this.begun = true;
    deadline.begin();
  }

  async *#watch(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* source;
    } catch (error) {
      this.broken = true;
      throw error;
    }
  }
}

function wasSent(cause: unknown): boolean {
  if (cause instanceof errors.ConnectTimeoutError) return false;
  const codes = [cause, ...(cause instanceof AggregateError ? cause.errors : [])].map((error) =>
    error instanceof Error && 'code' in error ? String(error.code) : '',
  );
  return !codes.some((code) => UNSENT.has(code));
}
