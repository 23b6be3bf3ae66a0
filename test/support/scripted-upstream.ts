import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import type { Api } from '../../src/upstream/request.ts';
import { failureVerdict, parseBody } from '../../src/upstream/wire/verdict.ts';
import { closing } from './closing.ts';

/** A request as it arrived, and the means to answer it. */
export interface Arrival {
  readonly url: URL;
  readonly key: string;
  readonly response: ServerResponse;
  answer(body: unknown, status?: number, headers?: Record<string, string>): void;
  /** Breaks the connection instead of answering. */
  drop(): void;
}

/** A real HTTP server that does what a test instructs it to do, request by request; closed with the test or its file. */
export class ScriptedUpstream implements AsyncDisposable {
  readonly log: Arrival[] = [];
  readonly dispatcher = new Agent({ keepAliveTimeout: 1 });
  onRequest: (arrival: Arrival) => void = (arrival) => arrival.answer({ path: arrival.url.href });
  readonly #server = createServer((request, response) => {
    const arrival: Arrival = {
      url: new URL(request.url ?? '', 'http://upstream'),
      key: request.headers.authorization ?? '',
      response,
      answer: (body, status = 200, headers = {}) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify(body));
      },
      drop: () => response.destroy(),
    };
    this.log.push(arrival);
    this.onRequest(arrival);
    for (const wake of this.#waiting.splice(0)) wake();
  });
  #waiting: (() => void)[] = [];

  static async start(): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream();
    await new Promise<void>((resolve) => {
      upstream.#server.listen(0, '127.0.0.1', resolve);
    });
    closing(() => upstream[Symbol.asyncDispose]());
    return upstream;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The nth request since the start, from 1, once it has arrived. */
  async arrival(nth: number): Promise<Arrival> {
    for (;;) {
      const arrival = this.log[nth - 1];
      if (arrival) return arrival;
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    await this.dispatcher.destroy();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

/** The simplest API that can be spoken over it. */
export const scriptedApi: Api = {
  upstream: 'LINKS',
  authorize: (request, credential) => {
    request.headers['authorization'] = credential;
  },
  judge: (answer) => {
    if (answer.status === 429) {
      return { kind: 'limited', retryAfterMs: Number(answer.headers['retry-after']) * 1000 };
    }
    const body = parseBody(answer);
    if (body.kind === 'unusable') return body.verdict;
    if (answer.status < 300) return { kind: 'success', body: body.members };
    return failureVerdict(answer.status, body.members['message']);
  },
};
