import { connect, type Socket } from 'node:net';

/** What came of asking one server for so long. */
export interface Load {
  readonly answers: number;
  readonly seconds: number;
  /** Milliseconds from each request to the end of its answer, in the order in which they came. */
  readonly latencies: readonly number[];
}

const END_OF_HEAD = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const STATUS = /^HTTP\/1\.1 (\d+)/;

/**
 * Keeps so many connections busy with one request each, over bare sockets: a client that costs more than the
 * server would measure itself. Fails on an answer with another status than `status`.
 */
export async function load(options: {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  readonly status?: number;
  /** The next request, as it stands on the wire. */
  readonly next: () => string;
}): Promise<Load> {
  const { port, connections, seconds, next, status = 200 } = options;
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
      try {
        await keepAsking(socket, { status, next, end, latencies });
      } finally {
        socket.destroy();
      }
    }),
  );
  return {
    answers: latencies.length,
    seconds: (performance.now() - begin) / 1000,
    latencies,
  };
}

function keepAsking(
  socket: Socket,
  options: {
    readonly status: number;
    readonly next: () => string;
    readonly end: number;
    readonly latencies: number[];
  },
): Promise<void> {
  const { status, next, end, latencies } = options;
  return new Promise((resolve, reject) => {
    let text = '';
    let needs = 0;
    let sentAt = performance.now();
    const ask = (): void => {
      text = '';
      needs = 0;
      sentAt = performance.now();
      socket.write(next(), 'latin1');
    };
    socket.on('error', reject).on('close', () => reject(new Error('The server hung up.')));
    socket.on('data', (piece: string) => {
      text = text === '' ? piece : text + piece;
      if (needs === 0) needs = lengthOf(text);
      if (needs === 0 || text.length < needs) return;
      if (Number(STATUS.exec(text)?.[1]) !== status) {
        reject(new Error(`answered ${text.slice(0, 500)}`));
        return;
      }
      const now = performance.now();
      latencies.push(now - sentAt);
      if (now < end) ask();
      else resolve();
    });
    ask();
  });
}

/** Bytes of the whole answer, once its head is there; 0 before. */
function lengthOf(text: string): number {
  const head = text.indexOf(END_OF_HEAD);
  if (head < 0) return 0;
  const length = LENGTH.exec(text.slice(0, head));
  if (!length && !text.startsWith('HTTP/1.1 304'))
    throw new Error(`no length:\n${text.slice(0, head)}`);
  return head + END_OF_HEAD.length + Number(length?.[1] ?? 0);
}
