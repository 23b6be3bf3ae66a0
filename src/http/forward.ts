import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import Agent from 'undici/lib/dispatcher/agent.js';
import type { ErrorCode } from '../errors.ts';
import { inBackground } from '../scheduling/at-once.ts';
import { type Clock, pause } from '../scheduling/clock.ts';
import type { Owner } from '../store/engine.ts';
import { expectsContinue, limitBodyTime, lingering } from './door/body/linger.ts';
import { type Forwarded, Relay, StreamedBody, type Tried } from './relay.ts';
import { isRepeatable } from './repeatable.ts';
import { errorAnswer, respond } from './respond.ts';
import type { Drain } from './socket/drain.ts';

/** A body up to this size is kept until its response begins, so that it can be sent again. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** Of all kept bodies: further ones are streamed. */
const MAX_ALL_KEPT_BYTES = 64 * 1024 * 1024;
/** How often the owner is looked for while none is known, in milliseconds. */
const LOOK_MS = 25;
/** How long a connection to the owner may take, in milliseconds: it is near. */
const CONNECT_MS = 2000;
/** How often the owner is asked whether it is there, in milliseconds, ... */
const ASK_MS = 1000;
/** ... and after which time without an answer it counts as suspended. */
const SILENT_MS = 5000;

interface ForwardOptions {
  readonly clock: Clock;
  /** How long a request waits for an owner, in milliseconds. */
  readonly maxWaitMs: number;
  /** The texts of operations by id, for those that are sent without. */
  readonly operations: ReadonlyMap<string, string> | null;
  /** Reads who owns the store now; `null` if that is not known. */
  readonly owner: () => Promise<Owner | null>;
}

/**
 * Forwards requests to the process that owns the store, and streams its responses back. What certainly was not executed,
 * queries and mutations with an idempotency key are sent again to the next owner until their response begins.
 */
export class Forwarding {
  /** Requests that were forwarded, and how often one was sent again. */
  readonly counts = { requests: 0, repeats: 0 };
  readonly #options: ForwardOptions;
  readonly #agent = new Agent({
    connect: { timeout: CONNECT_MS },
    // An event stream may be silent, and a request may wait for its turn.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  readonly #running = new Set<Relay>();
  #owner: Owner | null = null;
  #looking: Promise<void> | null = null;
  #keptBytes = 0;
  #isWatching = false;

  constructor(options: ForwardOptions) {
    this.#options = options;
  }

  /** Forwards a request that no handler has read. The headers of the response replace those that are set. */
  forward(request: IncomingMessage, response: ServerResponse, drain: Drain): void {
    const { clock } = this.#options;
    this.counts.requests += 1;
    drain.watch(response);
    const unhurried = request.url?.startsWith('/files/') === true;
    limitBodyTime(request, response, { clock, unhurried });
    if (expectsContinue(request)) response.writeContinue();
    inBackground(this.#forward(request, response));
  }

  /** Ends event streams, which would otherwise never end: their clients connect again. */
  endStreams(): void {
    for (const relay of this.#running) relay.endStream();
  }

  /** Closes the connections to the owner. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /**
   * Asks the owner regularly whether it is there. `silent` is called each time that it gives no answer, as if suspended, and
   * is told whether it gave one before.
   */
  watch(silent: (isNew: boolean) => void): () => void {
    const { clock } = this.#options;
    let cancel = (): void => {};
    let isSilent = false;
    const look = async (): Promise<void> => {
      const owner = this.#owner ?? (await this.#options.owner());
      const wasSilent = isSilent;
      isSilent = owner !== null && (await this.#ask(owner)) === 'silent';
      if (owner && isSilent) {
        if (this.#owner === owner) this.#owner = null;
        for (const relay of this.#running) relay.giveUp(owner);
        silent(!wasSilent);
      }
      if (this.#isWatching) cancel = clock.after(ASK_MS, () => inBackground(look()));
    };
    this.#isWatching = true;
    cancel = clock.after(ASK_MS, () => inBackground(look()));
    return () => {
      this.#isWatching = false;
      cancel();
    };
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, maxWaitMs } = this.#options;
    const length = Number(request.headers['content-length'] ?? Number.NaN);
    const isKept = length <= MAX_KEPT_BYTES && this.#keptBytes + length <= MAX_ALL_KEPT_BYTES;
    const held = isKept ? length : 0;
    this.#keptBytes += held;
    let tried: Tried | undefined;
    try {
      const kept = isKept ? await readKept(request) : null;
      const body = kept ?? (hasBody(request) ? new StreamedBody(request) : null);
      const isWhole = (): boolean => !(body instanceof StreamedBody && body.isBegun);
      const mayRepeat = (): boolean =>
        isWhole() && isRepeatable(request, kept, this.#options.operations);
      let deadline = clock.now() + maxWaitMs;
      while (!response.destroyed) {
        const owner = await this.#findOwner(deadline);
        if (!owner) return this.#fail(response, 503, NO_OWNER);
        const isFirst = tried === undefined;
        tried = await this.#try({ request, response, body, owner, mayRepeat });
        if (tried === 'answered' || response.destroyed) return;
        if (this.#owner === owner) this.#owner = null;
        if (!isWhole() || (tried === 'lost' && !mayRepeat())) {
          return this.#fail(response, 500, LOST);
        }
        if (isFirst) deadline = clock.now() + maxWaitMs;
        this.counts.repeats += 1;
        await pause(this.#options.clock, LOOK_MS);
      }
    } catch {
      // Its sender has gone before its body was complete.
      response.destroy();
    } finally {
      this.#keptBytes -= held;
    }
  }

  #fail(response: ServerResponse, status: number, error: Parameters<typeof errorAnswer>[0]): void {
    respond(response, { ...errorAnswer(error), status }, lingering(this.#options.clock));
  }

  async #try(forwarded: Forwarded): Promise<Tried> {
    const relay = new Relay(forwarded);
    this.#running.add(relay);
    const tried = await relay.send(this.#agent);
    this.#running.delete(relay);
    return tried;
  }

  /** The owner; `null` if none is found in time. */
  async #findOwner(deadline: number): Promise<Owner | null> {
    while (this.#options.clock.now() < deadline) {
      if (this.#owner) return this.#owner;
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
      await this.#looking;
    }
    return null;
  }

  /** Looks for an owner that answers: once for all requests that wait for it. */
  async #look(): Promise<void> {
    const owner = await this.#options.owner();
    if (owner && (await this.#ask(owner)) === 'there') this.#owner = owner;
    else await pause(this.#options.clock, LOOK_MS);
  }

  #ask({ url }: Owner): Promise<'there' | 'gone' | 'silent'> {
    return new Promise((resolve) => {
      let abort = (): void => {};
      const cancel = this.#options.clock.after(SILENT_MS, () => {
        resolve('silent');
        abort();
      });
      const end = (state: 'there' | 'gone'): void => {
        cancel();
        resolve(state);
      };
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart(controller) {
          abort = () => controller.abort(new Error('The owner does not answer.'));
        },
        onResponseStart: (_, status) => end(status === 200 ? 'there' : 'gone'),
        onResponseError: () => end('gone'),
      };
      this.#agent.dispatch({ origin: url, path: '/livez', method: 'GET' }, handler);
    });
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Rejects if its sender disconnects before it is complete. */
function readKept(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.once('end', () => resolve(Buffer.concat(pieces)));
    request.once('error', reject);
    request.once('close', () => reject(new Error('The caller has gone.')));
  });
}

const NO_OWNER = {
  message:
    'No process owns the store at present. The request was not executed, or can be sent again.',
  extensions: {
    code: 'BUDGET_EXHAUSTED' satisfies ErrorCode,
    reason: 'handover',
    retryAfterMs: 1000,
    http: { headers: { 'Retry-After': '1' } },
  },
};

const LOST = {
  message:
    'The process that executed this request ended before its response. A change may have been made: look for it before you send it again, or send changes with an idempotency key.',
  extensions: { code: 'OUTCOME_UNKNOWN' satisfies ErrorCode },
};
