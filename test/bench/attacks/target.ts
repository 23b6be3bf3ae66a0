import { setMaxListeners } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerError, Row } from '../../support/gateway.ts';
import type { Figure } from '../report/measurement.ts';

/** The tokens of the gateway under attack: attackers may upload too. */
export const tokens = { attacker: 'attacker', reader: 'reader' } as const;

/** What came back; status 0 when nothing did. */
export interface Answer {
  readonly status: number;
  readonly data: Row | null | undefined;
  readonly errors: readonly AnswerError[];
}

interface Asking {
  readonly variables?: unknown;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const PROTOCOL = '2026-07-28';
const JSON_TYPE = { 'content-type': 'application/json' };

/** A gateway as its attacker sees it. Nothing here rejects: an attacker does not mind. */
export class Target {
  readonly host = '127.0.0.1';
  readonly port: number;
  /** Whom `reads` asks for. */
  readonly #reader: string;
  /** Answers that say that the gateway itself is at fault. */
  defects = 0;
  readonly #over = new AbortController();
  readonly #sockets = new Set<Socket>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1100 });

  constructor(url: string, reader: string) {
    // Every request listens to it.
    setMaxListeners(0, this.#over.signal);
    this.port = Number(new URL(url).port);
    this.#reader = reader;
  }

  /** Whether the attack has taken all the time it was given. */
  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Waits as long, or until the attack is over. */
  async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => {});
  }

  /** Sends one operation as the attacker. */
  ask(query: string, { variables, token, headers = {} }: Asking = {}): Promise<Answer> {
    return this.post(JSON.stringify({ query, variables }), { ...JSON_TYPE, ...headers }, token);
  }

  /** What an operation would cost. */
  dryRun(query: string, variables?: unknown): Promise<Answer> {
    return this.ask(query, { variables, headers: { 'x-gateway-dry-run': '1' } });
  }

  /** Calls a tool as an agent of the attacker. */
  callTool(name: string, args: unknown): Promise<Answer> {
    const prefix = 'io.modelcontextprotocol/';
    const meta = {
      [`${prefix}protocolVersion`]: PROTOCOL,
      [`${prefix}clientCapabilities`]: {},
    };
    const params = { name, arguments: args, _meta: meta };
    const headers = {
      ...JSON_TYPE,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    return this.post(body, headers, tokens.attacker, '/mcp');
  }

  /** Sends a body as it is. */
  post(
    body: string | Buffer,
    headers: Readonly<Record<string, string>>,
    token: string = tokens.attacker,
    path = '/graphql',
  ): Promise<Answer> {
    const { host, port, isOver } = this;
    const none: Answer = { status: 0, data: undefined, errors: [] };
    if (isOver) return Promise.resolve(none);
    return new Promise((resolve) => {
      const sent = request(
        {
          host,
          port,
          path,
          method: 'POST',
          agent: this.#agent,
          signal: this.#over.signal,
          headers: {
            authorization: `Bearer ${token}`,
            'content-length': Buffer.byteLength(body),
            ...headers,
          },
        },
        (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', () => resolve(none));
          response.on('end', () => {
            const { statusCode: status = 0 } = response;
            const answer = read(Buffer.concat(pieces).toString());
            if (answer.errors.some(isDefect)) this.defects += 1;
            resolve({ status, ...answer });
          });
        },
      );
      sent.on('error', () => resolve(none));
      sent.end(body);
    });
  }

  /** Connects, sends a text, and reads nothing. The socket may be written to until the attack is over. */
  open(text: string): Promise<Socket> {
    return new Promise((resolve) => {
      const socket = connect(this.port, this.host);
      this.#sockets.add(socket);
      socket.pause();
      socket.on('error', () => resolve(socket));
      socket.on('close', () => resolve(socket));
      socket.on('connect', () => {
        socket.write(text, () => resolve(socket));
      });
    });
  }

  /** Opens as many sockets at once, each with a text of its own. */
  openMany(count: number, text: (index: number) => string): Promise<Socket[]> {
    return Promise.all(times(count, (index) => this.open(text(index))));
  }

  /** Reads what no caller has read yet, as somebody else who waits `seconds` at most: whether it was served. */
  async reads(query: string, seconds: number): Promise<boolean> {
    const headers = { prefer: `wait=${seconds}` };
    const { status, errors } = await this.ask(query, { token: this.#reader, headers });
    return status === 200 && errors.length === 0;
  }

  /** Lets go of everything, whatever is still under way. */
  end(): void {
    this.#over.abort();
    for (const socket of this.#sockets) socket.destroy();
    this.#agent.destroy();
  }
}

/** One for each index. */
export function times<T>(count: number, each: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => each(index));
}

/** Sends a number of requests, a part of them at a time. */
export async function sendAll(
  count: number,
  atOnce: number,
  send: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await send(next - 1);
    }
  };
  await Promise.all(times(atOnce, one));
}

/** A figure for reads by others, of which all must be served. */
export function othersServed(label: string, served: readonly boolean[]): Figure {
  const value = served.filter(Boolean).length;
  const target = { atLeast: served.length };
  return { label, value, target, note: `of ${served.length}` };
}

function isDefect({ extensions }: AnswerError): boolean {
  return extensions?.['code'] === 'INTERNAL_SERVER_ERROR';
}

function read(text: string): Pick<Answer, 'data' | 'errors'> {
  try {
    const { data, errors = [] } = JSON.parse(text);
    return { data, errors };
  } catch {
    return { data: undefined, errors: [] };
  }
}
