import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * What becomes of bytes between a replica and Redis. `silent`: they wait, on old and new connections, and
 * arrive late. `refused`: every connection is broken.
 */
export type LinkState = 'open' | 'silent' | 'refused';

/** The start of messages of Redis to a subscriber. */
const MESSAGE = '>3\r\n$7\r\nmessage\r\n';

/** Where a message ends that begins at a place: behind the name of the channel and the text. */
function endOfMessage(piece: Buffer, at: number): number | null {
  let end = at + MESSAGE.length;
  for (let part = 0; part < 2; part += 1) {
    const line = piece.indexOf('\r\n', end);
    const length = Number(piece.subarray(end + 1, line).toString());
    if (line < 0 || !Number.isInteger(length)) return null;
    end = line + 2 + length + 2;
  }
  return end <= piece.length ? end : null;
}

/** A pipe between one replica and Redis that a test can hold shut, slow down or point elsewhere. */
export class RedisLink implements AsyncDisposable {
  #target: number;
  #state: LinkState = 'open';
  /** Whether the next message of the channel is lost on its way to the replica. */
  loses: () => boolean = () => false;
  /** Messages that were lost. */
  lost = 0;
  /** Milliseconds that each piece takes, either way. */
  delayMs = 0;
  /** What was taken last for each socket, while it is on its way. */
  readonly #delivered = new Map<Socket, Promise<unknown>>();
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #server = createServer((near) => this.#accept(near));

  private constructor(target: number) {
    this.#target = target;
  }

  /** Opens one to a port of this machine. */
  static async open(target: number): Promise<RedisLink> {
    const link = new RedisLink(target);
    await once(link.#server.listen(0, '127.0.0.1'), 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Changes what becomes of bytes from now on; what waited is delivered when it opens again. */
  become(state: LinkState): void {
    this.#state = state;
    if (state === 'refused') this.breakAll();
    for (const pair of this.#pairs) {
      for (const socket of pair) {
        if (state === 'silent') socket.pause();
        else socket.resume();
      }
    }
  }

  /** Points new connections at another port, and breaks those there are. */
  leadTo(port: number): void {
    this.#target = port;
    this.breakAll();
  }

  /** Breaks all connections; new ones are taken. */
  breakAll(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.breakAll();
    await once(this.#server, 'close');
  }

  #accept(near: Socket): void {
    near.on('error', () => undefined);
    if (this.#state === 'refused') {
      near.destroy();
      return;
    }
    const far = connect(this.#target, '127.0.0.1');
    far.on('error', () => undefined);
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      to.setNoDelay(true);
      from.on('data', (piece) => this.#pass(from === far ? this.#withoutLost(piece) : piece, to));
      from.once('close', () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
      if (this.#state === 'silent') from.pause();
    }
  }

  /** A piece without the messages that are lost; one that is cut in two by the end of a piece gets through. */
  #withoutLost(piece: Buffer): Buffer {
    const kept: Buffer[] = [];
    let from = 0;
    for (let at = piece.indexOf(MESSAGE); at >= 0; at = piece.indexOf(MESSAGE, at + 1)) {
      const end = endOfMessage(piece, at);
      if (end === null || !this.loses()) continue;
      this.lost += 1;
      kept.push(piece.subarray(from, at));
      from = end;
    }
    return from === 0 ? piece : Buffer.concat([...kept, piece.subarray(from)]);
  }

  #pass(piece: Buffer, to: Socket): void {
    if (piece.length === 0) return;
    const last = this.#delivered.get(to);
    if (this.delayMs === 0 && !last) {
      to.write(piece);
      return;
    }
    // However the delay changes, pieces keep their order: nothing on a wire overtakes what is before it.
    const rest = new Promise((resolve) => setTimeout(resolve, this.delayMs));
    const mine = Promise.all([last, rest]).then(() => {
      if (this.#delivered.get(to) === mine) this.#delivered.delete(to);
      return to.destroyed || to.write(piece);
    });
    this.#delivered.set(to, mine);
  }
}
