import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Owner } from '../store/engine.ts';
import { HANDOVER, signSender } from './door/sender.ts';

/** Headers that concern one connection only. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What became of one try: answered; to be sent again; or lost, in which case it may have been executed. */
export type Tried = 'answered' | 'again' | 'lost';

/** One try to forward a request. */
export interface Forwarded {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer | StreamedBody | null;
  readonly owner: Owner;
  /** Whether it can be sent again although it may have been executed. */
  readonly mayRepeat: () => boolean;
}

/** Sends a request to the owner, and its response to the caller as it arrives. */
export class Relay implements Dispatcher.DispatchHandler {
  readonly #forwarded: Forwarded;
  #controller: Dispatcher.DispatchController | null = null;
  /** Whether the owner leaves it to the next one. */
  #isLeft = false;
  /** Whether its response has begun, after which it cannot be sent again. */
  #hasBegun = false;
  #resolve: (tried: Tried) => void = () => {};

  constructor(forwarded: Forwarded) {
    this.#forwarded = forwarded;
  }

  /** Never rejects. */
  async send(agent: Dispatcher): Promise<Tried> {
    const { body, owner, request, response } = this.#forwarded;
    const abort = (): void => this.#controller?.abort(new Error('The caller has gone.'));
    response.once('close', abort);
    const tried = await new Promise<Tried>((resolve) => {
      this.#resolve = resolve;
      agent.dispatch(
        {
          origin: owner.url,
          path: request.url ?? '/',
          method: request.method as Dispatcher.HttpMethod,
          headers: [...endToEnd(request.rawHeaders), ...signSender(request, owner.secret)],
          // Accepts iterables too; only its types lack them.
          body: (body instanceof StreamedBody ? body.pieces() : body) as Buffer | null,
        },
        this,
      );
    });
    response.off('close', abort);
    return tried;
  }

  /** Ends it if it was sent to an owner that does not answer. */
  giveUp(owner: Owner): void {
    if (this.#forwarded.owner === owner) this.#controller?.abort(new Error('The owner is silent.'));
  }

  endStream(): void {
    const { response } = this.#forwarded;
    if (!String(response.getHeader('content-type')).startsWith('text/event-stream')) return;
    response.end();
    this.#controller?.abort(new Error('The process stops.'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#forwarded.response.destroyed) controller.abort(new Error('The caller has gone.'));
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    const { response } = this.#forwarded;
    this.#isLeft =
      status === 421 || (headers[HANDOVER] !== undefined && this.#forwarded.mayRepeat());
    if (this.#isLeft || response.destroyed) return;
    this.#hasBegun = true;
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && !HOP_BY_HOP.has(name) && name !== HANDOVER)
        response.setHeader(name, value);
    }
    response.statusCode = status;
    // All others are sent with their first bytes.
    if (headers['content-length'] === undefined) response.flushHeaders();
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    const { response } = this.#forwarded;
    if (this.#isLeft || response.write(piece)) return;
    controller.pause();
    response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    if (!this.#isLeft) this.#forwarded.response.end();
    this.#resolve(this.#isLeft ? 'again' : 'answered');
  }

  onResponseError(): void {
    const { response } = this.#forwarded;
    if (this.#hasBegun) {
      // Its caller must not take a part for the whole.
      if (!response.writableEnded) response.destroy();
      this.#resolve('answered');
    } else this.#resolve(this.#controller === null || this.#isLeft ? 'again' : 'lost');
  }
}

/** The body of a request, read once while it is sent. */
export class StreamedBody {
  /** Whether any of it was read. */
  isBegun = false;
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  /** If it is not read to its end, the connection of the caller stays open for the response. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    this.isBegun = true;
    yield* this.#request.iterator({ destroyOnReturn: false });
  }
}

/** Names and values by turns, without those of the connection. */
function endToEnd(headers: readonly string[]): string[] {
  const kept: string[] = [];
  const dropped = new Set(HOP_BY_HOP);
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() !== 'connection') continue;
    for (const name of headers[at + 1]?.split(',') ?? []) dropped.add(name.trim().toLowerCase());
  }
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (!dropped.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}
