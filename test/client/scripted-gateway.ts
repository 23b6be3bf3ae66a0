import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { LivePage } from '../../client/live-types.ts';

/** What comes in its order, and is waited for. */
export class Feed<T> {
  readonly #held: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  /** Gives it to who waits, or holds it. */
  push(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(value);
    else this.#held.push(value);
  }

  /** The next one that was not taken. */
  next(): Promise<T> {
    const [value] = this.#held.splice(0, 1);
    if (value !== undefined) return Promise.resolve(value);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** How many were not taken yet. */
  get size(): number {
    return this.#held.length;
  }
}

/** A request of the client, for the test to answer. */
export class Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
  /** Once the client has closed it, or it is cut. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;

  constructor(headers: IncomingHttpHeaders, body: string, response: ServerResponse) {
    this.headers = headers;
    this.body = JSON.parse(body);
    this.#response = response;
    this.closed = new Promise((resolve) => void response.on('close', resolve));
  }

  stream(...events: readonly string[]): this {
    this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    this.#response.flushHeaders();
    return this.send(...events);
  }

  send(...events: readonly string[]): this {
    for (const each of events) this.#response.write(each);
    return this;
  }

  end(): void {
    this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
  }

  answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
    const type = typeof body === 'string' ? 'text/html' : 'application/json; charset=utf-8';
    this.#response.writeHead(status, { 'content-type': type, ...headers });
    this.#response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

/** A gateway whose every answer the test gives. */
export class ScriptedGateway {
  readonly asked = new Feed<Asked>();
  readonly #server = createServer((request, response) => {
    void text(request).then((body) => this.asked.push(new Asked(request.headers, body, response)));
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/graphql`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }
}

/** An event of a stream: its lines by their names. */
export function event(lines: Readonly<Record<string, unknown>>): string {
  const written = Object.entries(lines).map(([name, value]) => {
    return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`;
  });
  return `${written.join('')}\n`;
}

/** The page that is looked at, or not. */
export class ScriptedPage extends EventTarget implements LivePage {
  visibilityState = 'visible';

  turn(visibilityState: 'hidden' | 'visible'): void {
    this.visibilityState = visibilityState;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}
