import { connect, type Socket } from 'node:net';
import { type Answer, parseAnswer } from './answer.ts';

/** What a server did under load. */
export interface Load {
  readonly answers: number;
  readonly seconds: number;
  /** Milliseconds from each request to the end of its answer, in the order in which they came. */
  readonly latencies: readonly number[];
  /** Bytes of all answers with their heads. */
  readonly bytes: number;
}

/** How a server is asked. */
interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  readonly status?: number;
  /** The next request, as it stands on the wire. */
  readonly next: () => string;
}

/**
 * Keeps the given number of connections busy with one request each, over bare sockets: a client that costs more than the
 * server would measure itself. Fails on an answer with another status than `status`.
 */
export async function load(options: LoadOptions): Promise<Load> {
  const { port, connections, seconds, status = 200, next } = options;
  const latencies: number[] = [];
  let bytes = 0;
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const keepAsking = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentAt = performance.now();
      const settle = (outcome: Answer | Error): void => {
        if (outcome instanceof Error) return reject(outcome);
        if (outcome.status !== status) {
          return reject(new Error(`answered ${outcome.head} ${outcome.body.slice(0, 500)}`));
        }
        const now = performance.now();
        latencies.push(now - sentAt);
        bytes += outcome.bytes;
        if (now >= end) return resolve();
        sentAt = now;
        connection.ask(next(), settle);
      };
      connection.ask(next(), settle);
    });
  const all = Array.from({ length: connections }, () => new Connection(port));
  try {
    await Promise.all(all.map(keepAsking));
  } finally {
    for (const connection of all) connection.end();
  }
  return {
    answers: latencies.length,
    seconds: (performance.now() - begin) / 1000,
    latencies,
    bytes,
  };
}

/** Sends the same request the given number of times over one connection, and resolves with the last answer. */
export async function sample(port: number, request: string, times = 1): Promise<Answer> {
  const connection = new Connection(port);
  try {
    let answer = await connection.answer(request);
    for (let n = 1; n < times; n += 1) answer = await connection.answer(request);
    return answer;
  } finally {
    connection.end();
  }
}

/** One connection, kept alive, with one request at a time. */
export class Connection {
  readonly #socket: Socket;
  #text = '';
  #settle: (outcome: Answer | Error) => void = () => {};

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
      .setEncoding('latin1')
      .on('error', (error) => this.#settle(error))
      .on('close', () => this.#settle(new Error('The server hung up.')))
      .on('data', (piece: string) => this.#take(piece));
  }

  /** Calls back rather than resolving: at 60,000 answers a second a promise for each would be felt. */
  ask(request: string, settle: (outcome: Answer | Error) => void): void {
    this.#settle = settle;
    this.#socket.write(request, 'latin1');
  }

  /** The same as a promise. */
  answer(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.ask(request, (outcome) => {
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      });
    });
  }

  end(): void {
    this.#settle = () => {};
    this.#socket.destroy();
  }

  #take(piece: string): void {
    this.#text = this.#text === '' ? piece : this.#text + piece;
    let answer: Answer | null;
    try {
      answer = parseAnswer(this.#text);
    } catch (error) {
      this.#settle(error as Error);
      return;
    }
    if (!answer) return;
    this.#text = '';
    this.#settle(answer);
  }
}
