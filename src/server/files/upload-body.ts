import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import { BadUserInput, BudgetExhausted } from '../../errors.ts';
import type { ByteStream } from '../../upstream/request.ts';

interface UploadBodyOptions {
  readonly request: IncomingMessage;
  readonly clock: Clock;
  readonly maxBytes: number;
  /** Called before the first byte is read. */
  readonly onStart: () => void;
  /** Called when an upload that the upstream refused cannot be sent again; nothing happened there. */
  readonly onLost: (reason: BudgetExhausted) => void;
}

/**
 * How many of the first bytes are buffered until the upload is over. An upstream that refuses for its
 * rate limit usually does so before it has read more, and then the upload can be sent again.
 */
const BUFFERED_BYTES = 1024 * 1024;
/** How long a caller may send nothing in the middle of a file. */
const MAX_SILENCE_MS = 30_000;

/** `BAD_USER_INPUT` for a body that cannot be what was meant to be uploaded. */
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

/** The body of a request as a stream for an upstream: read no faster than the upstream takes it. */
export class UploadBody implements ByteStream {
  readonly length: number | null;
  /** Why the body itself could not be read, if that is what went wrong. */
  fault: UploadFault | null = null;
  readonly #options: UploadBodyOptions;
  readonly #source: AsyncIterator<Uint8Array>;
  /** The pieces that were read and are still buffered: all but the first `#dropped`. */
  #pieces: Uint8Array[] = [];
  #dropped = 0;
  #bytes = 0;
  #started = false;
  #ended = false;
  #reading: Promise<void> | null = null;

  constructor(options: UploadBodyOptions) {
    const { request } = options;
    this.#options = options;
    const announced = request.headers['content-length'];
    this.length = announced === undefined ? null : Number(announced);
    // An attempt that is abandoned must not end the request: the next attempt reads the rest of it.
    this.#source = request.iterator({ destroyOnReturn: false });
  }

  async *open(): AsyncGenerator<Uint8Array> {
    for (let at = 0; ; at += 1) {
      if (at === this.#dropped + this.#pieces.length && !this.#ended) {
        // An abandoned attempt may still be reading the piece that the next attempt wants.
        this.#reading ??= this.#read().finally(() => {
          this.#reading = null;
        });
        await this.#reading;
      }
      const piece = this.#pieces[at - this.#dropped];
      if (piece) yield piece;
      else if (at < this.#dropped) throw new Error('The first bytes are gone');
      else return;
    }
  }

  refused(retryAfterMs: number): void {
    if (this.#dropped === 0) return;
    const availableAt = new Date(this.#options.clock.wall() + retryAfterMs);
    this.#options.onLost(new BudgetExhausted('LINKS', Math.max(1, retryAfterMs), availableAt));
  }

  async #read(): Promise<void> {
    if (!this.#started) this.#options.onStart();
    this.#started = true;
    const { done, value: piece } = await this.#next();
    if (done) {
      this.#ended = true;
      return;
    }
    this.#bytes += piece.length;
    if (this.#bytes > this.#options.maxBytes)
      throw this.#fail(uploadTooLarge(this.#options.maxBytes));
    this.#pieces.push(piece);
    if (this.#bytes > BUFFERED_BYTES) {
      this.#dropped += this.#pieces.length - 1;
      this.#pieces = [piece];
    }
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(MAX_SILENCE_MS, () => {
        const seconds = MAX_SILENCE_MS / 1000;
        reject(this.#fail(new UploadFault(408, `No byte of the file came for ${seconds} s.`)));
      });
      this.#source.next().then(resolve, reject).finally(cancel);
    });
  }

  #fail(fault: UploadFault): UploadFault {
    this.fault = fault;
    return fault;
  }
}
