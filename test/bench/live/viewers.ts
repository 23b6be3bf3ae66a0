import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

interface ViewersOptions {
  readonly port: number;
  /** GraphQL requests in JSON, of which each viewer looks at the next. */
  readonly bodies: readonly string[];
  readonly accept: string;
}

interface Viewer {
  readonly socket: Socket;
  received: number;
  /** The end of what has come: what is looked for may lie on a border. */
  tail: Buffer;
  /** Whether it has what is looked for. */
  hasSeen: boolean;
}

/** This many connect at a time. */
const AT_ONCE = 50;
/** A viewer without a result by then never gets one. */
const LONGEST_MS = 60_000;
const FIRST = 'event: next';
const NOTHING = Buffer.alloc(0);

/**
 * Many who look at live queries, over bare sockets. What comes is searched for some bytes and not parsed: readers
 * that cost more than the gateway would measure themselves.
 */
export class Viewers {
  readonly #options: ViewersOptions;
  readonly #viewers: Viewer[] = [];
  #mark = FIRST;
  #seen = (): void => {};

  constructor(options: ViewersOptions) {
    this.#options = options;
  }

  /** Opens more streams; resolves when all of them have a result. */
  async open(count: number): Promise<void> {
    for (let left = count; left > 0; left -= AT_ONCE) {
      const first = this.#sees(FIRST, Math.min(AT_ONCE, left), () => {
        for (let n = 0; n < Math.min(AT_ONCE, left); n += 1) this.#connect();
      });
      await first;
    }
  }

  /** Resolves when each of them has seen this text, with the moments on `performance.now()`. */
  sees(mark: string): Promise<readonly number[]> {
    return this.#sees(mark, this.#viewers.length, () => {
      for (const viewer of this.#viewers) viewer.hasSeen = false;
    });
  }

  /** Reads nothing more, until `resume`. */
  stall(): void {
    for (const { socket } of this.#viewers) socket.pause();
  }

  resume(): void {
    for (const { socket } of this.#viewers) socket.resume();
  }

  /** Bytes that have come to all of them, with what HTTP adds. */
  get received(): number {
    return this.#viewers.reduce((sum, { received }) => sum + received, 0);
  }

  /** All of them go away. */
  close(): void {
    for (const { socket } of this.#viewers) socket.destroy();
    this.#viewers.length = 0;
  }

  async #sees(mark: string, count: number, begin: () => void): Promise<readonly number[]> {
    const moments: number[] = [];
    const late = new AbortController();
    const all = new Promise<void>((resolve) => {
      this.#seen = () => {
        if (moments.push(performance.now()) === count) resolve();
      };
    });
    this.#mark = mark;
    begin();
    const timeout = pause(LONGEST_MS, undefined, late).then(
      () => Promise.reject(new Error(`${moments.length} of ${count} have seen ${mark}`)),
      () => {},
    );
    await Promise.race([all, timeout]);
    late.abort();
    return moments;
  }

  #connect(): void {
    const { accept, bodies, port } = this.#options;
    const body = bodies[this.#viewers.length % bodies.length] ?? '';
    // One caller may have 500 streams, and without authentication an address is a caller.
    const localAddress = `127.0.0.${2 + Math.floor(this.#viewers.length / 400)}`;
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    const viewer: Viewer = { socket, received: 0, tail: NOTHING, hasSeen: false };
    this.#viewers.push(viewer);
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => this.#took(viewer, piece));
    const head = [
      'POST /graphql HTTP/1.1',
      'Host: localhost',
      `Accept: ${accept}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }

  #took(viewer: Viewer, piece: Buffer): void {
    viewer.received += piece.length;
    if (viewer.hasSeen) return;
    if (piece.includes(this.#mark) || Buffer.concat([viewer.tail, piece]).includes(this.#mark)) {
      viewer.hasSeen = true;
      viewer.tail = NOTHING;
      this.#seen();
    } else {
      viewer.tail = Buffer.from(piece.subarray(-this.#mark.length));
    }
  }
}
