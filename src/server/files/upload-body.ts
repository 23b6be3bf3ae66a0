import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import { BadUserInput, BudgetExhausted } from '../../errors.ts';
import type { ByteStream } from '../../upstream/request.ts';

interface UploadBodyOptions {
  readonly request: IncomingMessage;
  readonly clock: Clock;
  readonly maxBytes: number;
  /** Whether so many of the bytes may be held until the upload is over. */
  readonly hold: (bytes: number) => boolean;
  /** Called before the first byte is read. */
  readonly onStart: () => void;
  /** Called when an upload that the upstream refused cannot be sent again; nothing happened there. */
  readonly onLost: (reason: BudgetExhausted) => void;
}

/**
 * How many bytes must have come before the upload asks for its turn, unless the file is smaller: a sender who
 * says much and sends little takes no slot. More are not read before it has one.
 */
const FIRST_BYTES = 64 * 1024;
/**
 * How many of the first bytes are buffered until the upload is over, at most. An upstream that refuses for its
 * rate limit usually does so before it has read more, and then the upload can be sent again.
 */
const BUFFERED_BYTES = 1024 * 1024;
/** How long a sender is waited for in all, in milliseconds, unless bytes come. */
const PATIENCE_MS = 30_000;
/** What each byte adds to that, up to the same: this makes the lowest rate 1000 bytes a second. */
const PATIENCE_PER_BYTE_MS = 1;

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
  #patienceMs = PATIENCE_MS;
  #started = false;
  /** Whether the first bytes have been handed out. Before that, none may go. */
  #sent = false;
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

  /** Bytes that have been read. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Waits until bytes flow: the first have come, or all.
   * @throws UploadFault `BAD_USER_INPUT` when they come too slowly, or are too many.
   */
  async begin(): Promise<void> {
    while (this.#bytes < FIRST_BYTES && !this.#ended) await this.#read();
  }

  async *open(): AsyncGenerator<Uint8Array> {
    this.#sent = true;
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
    // Once some are gone, there is no use in the others.
    const whole = this.#dropped === 0 && this.#bytes <= BUFFERED_BYTES;
    if (!this.#sent || (whole && this.#options.hold(piece.length))) return;
    this.#dropped += this.#pieces.length - 1;
    this.#pieces = [piece];
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    const { clock } = this.#options;
    const askedAt = clock.now();
    return new Promise((resolve, reject) => {
      const cancel = clock.after(this.#patienceMs, () => {
        const rate = 1000 / PATIENCE_PER_BYTE_MS;
        const message = `The file comes too slowly: it must be ${rate} bytes a second on average.`;
        reject(this.#fail(new UploadFault(408, message)));
      });
      const take = (next: IteratorResult<Uint8Array>): void => {
        const earnedMs = next.done ? 0 : next.value.length * PATIENCE_PER_BYTE_MS;
        const leftMs = this.#patienceMs - (clock.now() - askedAt);
        this.#patienceMs = Math.min(PATIENCE_MS, leftMs + earnedMs);
        resolve(next);
      };
      this.#source.next().then(take, reject).finally(cancel);
    });
  }

  #fail(fault: UploadFault): UploadFault {
    this.fault = fault;
    return fault;
  }
}
