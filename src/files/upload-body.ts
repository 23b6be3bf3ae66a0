import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BadUserInput, BudgetExhausted } from '../errors.ts';
import { type Clock, Deadline } from '../scheduling/clock.ts';
import type { ByteStream } from '../upstream/request.ts';

interface UploadBodyOptions {
  readonly request: IncomingMessage;
  readonly clock: Clock;
  readonly maxBytes: number;
  /** Whether that many bytes may be held until the upload has ended. */
  readonly hold: (bytes: number) => boolean;
  /** Called when bytes are handed out that will not be again. */
  readonly onSpent: (bytes: number) => void;
  /** Called before the first byte is read. */
  readonly onStart: () => void;
  /** Called when an upload that the upstream refused cannot be sent again. The upstream has not stored it. */
  readonly onLost: (reason: BudgetExhausted) => void;
}

/**
 * How many bytes must have arrived before the upload requests its turn, unless the file is smaller: a client that
 * announces much and sends little takes no slot. No more is read before it has one.
 */
const FIRST_BYTES = 64 * 1024;
/**
 * How many of the first bytes are buffered until the upload has ended, at most. An upstream that refuses because
 * of its rate limit usually does so before it has read more, and then the upload can be repeated.
 */
const BUFFERED_BYTES = 1024 * 1024;
/** Maximum total wait for a sender without bytes, in milliseconds. */
const PATIENCE_MS = 30_000;
/** Time that each byte adds to that, up to the same total: this results in a minimum of 1000 bytes per second. */
const PATIENCE_PER_BYTE_MS = 1;

/** `BAD_USER_INPUT` for a body that cannot be the intended file. */
export class UploadFault extends BadUserInput {
  readonly status: 408 | 413;
  constructor(status: 408 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

/** With status 413. */
export function uploadTooLarge(maxBytes: number): UploadFault {
  return new UploadFault(413, `The file is larger than ${maxBytes} bytes.`);
}

/**
 * The body of a request as a stream for an upstream: read no faster than the upstream takes it. The request
 * flows as long as it is read at its pace, which spares turning its socket off and on for each piece.
 */
export class UploadBody implements ByteStream {
  readonly length: number | null;
  /** Why the body itself could not be read, if that is what went wrong. */
  fault: UploadFault | null = null;
  readonly #options: UploadBodyOptions;
  readonly #patience: Deadline;
  /** The pieces that were read and are still buffered: all but the first `#dropped`. */
  readonly #pieces: Uint8Array[] = [];
  #dropped = 0;
  /** Whether pieces stay buffered that have been handed out, so that they can be once more. */
  #keeps = true;
  #bytes = 0;
  #patienceMs = PATIENCE_MS;
  #started = false;
  /** Whether the first bytes have been handed out. */
  #sent = false;
  #ended = false;
  /** Why no more data arrives, if that is not the end. */
  #broken: { readonly error: unknown } | null = null;
  /** What waits for the next piece, and since when. */
  #waiting: { readonly since: number; readonly look: () => void } | null = null;

  constructor(options: UploadBodyOptions) {
    this.#options = options;
    const announced = options.request.headers['content-length'];
    this.length = announced === undefined ? null : Number(announced);
    this.#patience = new Deadline(options.clock, () => {
      const rate = 1000 / PATIENCE_PER_BYTE_MS;
      const message = `The upload is too slow. It must average at least ${rate} bytes per second.`;
      this.#fail(new UploadFault(408, message));
    });
  }

  /** Bytes that have been read. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Waits until bytes flow: the first have come, or all.
   * @throws UploadFault `BAD_USER_INPUT` when they come too slowly, or are too many.
   */
  async begin(): Promise<void> {
    while (this.#bytes < FIRST_BYTES && !this.#ended) await this.#more();
  }

  /** The length, if it was announced or all bytes have arrived, and the SHA-256 of the first ones. Call after `begin`. */
  get outline(): { readonly length: number | null; readonly start: string } {
    const digest = createHash('sha256');
    let left = FIRST_BYTES;
    for (const piece of this.#pieces) {
      if (left === 0) break;
      const part = piece.subarray(0, left);
      digest.update(part);
      left -= part.length;
    }
    const length = this.length ?? (this.#ended ? this.#bytes : null);
    return { length, start: digest.digest('base64url') };
  }

  /** Written by hand, because a generator would cost several promises for each piece. */
  open(): AsyncIterableIterator<Uint8Array> {
    this.#sent = true;
    let at = 0;
    let left = false;
    const over = { done: true, value: undefined } as const;
    const pieces: AsyncIterableIterator<Uint8Array> = {
      [Symbol.asyncIterator]: () => pieces,
      next: async () => {
        while (!this.#ended && at === this.#dropped + this.#pieces.length) {
          if (left) return over;
          await this.#more();
        }
        if (left) return over;
        if (at < this.#dropped) throw new Error('The first bytes are gone');
        const value = this.#pieces[at - this.#dropped];
        if (!value) return over;
        at += 1;
        if (!this.#keeps) {
          this.#drop(at);
          this.#options.onSpent(value.length);
        }
        return { done: false, value };
      },
      // A try that is abandoned reads no more. The next one reads on.
      return: () => {
        left = true;
        this.#wake();
        return Promise.resolve(over);
      },
    };
    return pieces;
  }

  refused(retryAfterMs: number): void {
    if (this.#dropped === 0) return;
    const availableAt = new Date(this.#options.clock.wall() + retryAfterMs);
    this.#options.onLost(
      new BudgetExhausted('LINKS', Math.max(1, retryAfterMs), availableAt, 'paused'),
    );
  }

  /**
   * Stops reading: the rest of the request is left to the code that responds to it. A write that continues without its
   * caller fails unless it has all bytes.
   */
  close(): void {
    this.#patience.end();
    if (!this.#started) return;
    const { request } = this.#options;
    if (!this.#ended) this.#break(new Error('The request is over'));
    request.off('data', this.#take).off('end', this.#end);
    request.off('error', this.#breakOff).off('close', this.#breakOff);
    // A body that has arrived completely is removed, so that the connection can be reused.
    if (request.complete) request.resume();
    else request.pause();
  }

  /** Waits for the next piece or the end. */
  #more(): Promise<void> {
    const { clock, request } = this.#options;
    if (!this.#started) this.#start();
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.#broken) reject(this.#broken.error);
        else resolve();
      };
      if (this.#broken) {
        look();
        return;
      }
      this.#waiting = { since: clock.now(), look };
      this.#patience.set(this.#patienceMs);
      if (request.isPaused()) request.resume();
    });
  }

  #start(): void {
    const { onStart, request } = this.#options;
    this.#started = true;
    onStart();
    request.on('data', this.#take).on('end', this.#end);
    request.on('error', this.#breakOff).on('close', this.#breakOff);
  }

  readonly #take = (piece: Uint8Array): void => {
    const { hold, maxBytes, request } = this.#options;
    this.#bytes += piece.length;
    if (this.#bytes > maxBytes) {
      this.#fail(uploadTooLarge(maxBytes));
      return;
    }
    this.#pieces.push(piece);
    // Its end may be noticed later, and its sender be gone by then: the upstream can have the whole file.
    if (this.#bytes === this.length) this.#ended = true;
    // Once some bytes are lost, the others are of no use.
    if (this.#sent) this.#keeps &&= this.#bytes <= BUFFERED_BYTES && hold(piece.length);
    if (this.#waiting) this.#wake(piece.length * PATIENCE_PER_BYTE_MS);
    else request.pause();
  };

  readonly #end = (): void => {
    this.#ended = true;
    this.#wake();
  };

  /** The connection has failed, or was closed before all had come. */
  readonly #breakOff = (error?: Error): void => {
    if (!this.#ended) this.#break(error ?? new Error('The request was cut off'));
  };

  #fail(fault: UploadFault): void {
    this.fault = fault;
    this.#break(fault);
  }

  #break(error: unknown): void {
    this.#broken ??= { error };
    this.#options.request.pause();
    this.#wake();
  }

  /** Releases the pieces up to the nth. */
  #drop(count: number): void {
    this.#pieces.splice(0, count - this.#dropped);
    this.#dropped = count;
  }

  #wake(earnedMs = 0): void {
    if (!this.#waiting) return;
    const { since, look } = this.#waiting;
    this.#waiting = null;
    this.#patience.lift();
    const leftMs = this.#patienceMs - (this.#options.clock.now() - since);
    this.#patienceMs = Math.min(PATIENCE_MS, leftMs + earnedMs);
    look();
  }
}
