import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SandboxClock } from '../clock.ts';
import { type Answer, htmlPage, json, Refusal } from './answer.ts';
import { answerFaults, type IsLocal, isFaultPath } from './fault-door.ts';
import { type Fault, FaultList } from './faults.ts';
import type { LoggedRequest } from './log.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { SandboxRequest } from './router.ts';
import { send, sendHalf } from './send.ts';
import { Spool } from './spool.ts';

/** The parts that differ between the two APIs. Sockets, log, limit and faults belong to the server. */
export interface ApiDefinition {
  /** The parsed body, and its form in the log. */
  parse(request: Omit<SandboxRequest, 'body'>): { body: unknown; logged: unknown };
  credential(request: SandboxRequest): string | undefined;
  /** The key under which the limit counts this credential. */
  bucket(credential: string | undefined): string;
  /** The API's error format; `inBody` if only the body can report a rate limit refusal. */
  failure(message: string, inBody?: boolean): unknown;
  run(request: SandboxRequest, credential: string | undefined): Answer;
  /** Responses outside /api: pages, pictures, downloads. */
  page(request: SandboxRequest): Promise<Answer>;
}

/** The address of a server, and who may set its faults. */
export interface Listen {
  host: string;
  port: number;
  prefix: string;
  isLocal: IsLocal;
}

const TOO_MANY = 'Too many requests. Please try again later.';
const MAX_BODY = 4 * 1024 ** 3;
/** Larger bodies are not kept in memory. */
const MAX_HELD = 8 * 1024 * 1024;

type Entry = { -readonly [Member in keyof LoggedRequest]: LoggedRequest[Member] };

/** One API on a real socket. */
export class ApiServer {
  readonly faults: FaultList;
  log: LoggedRequest[] = [];
  url = '';
  readonly #limiter: RateLimiter;
  readonly #clock: SandboxClock;
  readonly #listen: Listen;
  readonly #server: Server;
  readonly #spools = new Set<Spool>();
  #api: ApiDefinition | undefined;

  constructor(listen: Listen, limiter: RateLimiter, clock: SandboxClock) {
    this.#listen = listen;
    this.#limiter = limiter;
    this.#clock = clock;
    this.faults = new FaultList(clock);
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => request.socket.destroy());
    });
  }

  /** Opens the socket, then creates the API, whose data contain the address. */
  async start(define: (url: string) => ApiDefinition): Promise<void> {
    const { host, port, prefix } = this.#listen;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    const bound = (this.#server.address() as AddressInfo).port;
    const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
    this.url = `http://${name.includes(':') ? `[${name}]` : name}:${bound}${prefix}`;
    this.#api = define(this.url);
  }

  /** Replaces the API and its data. */
  define(api: ApiDefinition): void {
    this.#api = api;
    this.#closeSpools();
  }

  /** Closes the socket and all connections, also those without a response. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.#server.closeAllConnections();
    await closed;
    this.#closeSpools();
  }

  #closeSpools(): void {
    for (const spool of this.#spools) spool.close();
    this.#spools.clear();
  }

  /** Reads the whole body. Throws if the client disconnects first, so that no endpoint runs. */
  async #read(
    request: IncomingMessage,
    maxBytes = MAX_BODY,
  ): Promise<Pick<SandboxRequest, 'bytes' | 'spool'>> {
    const chunks: Buffer[] = [];
    let size = 0;
    let spool: Spool | undefined;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBytes) throw new Error('body too large');
        chunks.push(chunk);
        if (size <= MAX_HELD) continue;
        spool ??= new Spool();
        for (const held of chunks.splice(0)) await spool.add(held);
      }
    } catch (error) {
      spool?.close();
      throw error;
    }
    if (spool) this.#spools.add(spool);
    return { bytes: Buffer.concat(chunks), spool };
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const api = this.#api;
    if (!api) throw new Error('asked before it was ready');
    const url = new URL(request.url ?? '/', 'http://sandbox');
    const { prefix } = this.#listen;
    const inside = `${url.pathname}/`.startsWith(`${prefix}/`);
    const head = {
      method: request.method ?? 'GET',
      path: inside ? url.pathname.slice(prefix.length) || '/' : url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      ),
    };
    if (!inside) {
      await this.#read(request);
      send(response, htmlPage('Not found', '<p>Nothing is served here.</p>', 404));
    } else if (`${head.path}/`.startsWith('/api/')) {
      await this.#answerApi(api, head, request, response);
    } else if (isFaultPath(head.path)) {
      const { faults } = this;
      const { isLocal } = this.#listen;
      const read = async (maxBytes: number) => (await this.#read(request, maxBytes)).bytes;
      send(response, await answerFaults(request, head.path, { faults, isLocal, read }));
    } else {
      const answer = await api.page({ ...head, ...(await this.#read(request)), body: undefined });
      send(response, answer);
    }
  }

  async #answerApi(
    api: ApiDefinition,
    head: Omit<SandboxRequest, 'body' | 'bytes' | 'spool'>,
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const entry: Entry = {
      method: head.method,
      path: head.path,
      query: head.query,
      credential: undefined,
      headers: head.headers,
      body: undefined,
      status: 0,
      at: this.#clock.wall(),
      refused: false,
      fault: undefined,
    };
    this.log.push(entry);
    const received = { ...head, ...(await this.#read(incoming)) };
    const parsed = api.parse(received);
    const request: SandboxRequest = { ...received, body: parsed.body };
    entry.body = parsed.logged;
    entry.credential = api.credential(request);
    const bucket = api.bucket(entry.credential);

    if (!this.#limiter.allows(bucket)) {
      const seconds = this.#limiter.retryAfter(bucket);
      const answer = json(api.failure(TOO_MANY), 429);
      if (!this.#limiter.silent) answer.headers['retry-after'] = String(seconds);
      entry.refused = true;
      this.#finish(response, entry, answer, bucket);
      return;
    }
    const fault = this.faults.take(head.method, head.path, received.bytes);
    entry.fault = fault?.kind;
    entry.refused = fault?.kind === 'refuse-429' || fault?.kind === 'refuse-200';
    if (!entry.refused) this.#limiter.spend(bucket);
    const run = (key = entry.credential) => effect(api, request, key);
    if (fault) await this.#misbehave({ fault, run, api, entry, bucket, response });
    else this.#finish(response, entry, run(), bucket);
  }

  async #misbehave(scene: {
    fault: Fault;
    /** Runs the endpoint with the key of the request, or another. */
    run: (key?: string) => Answer;
    api: ApiDefinition;
    entry: Entry;
    bucket: string;
    response: ServerResponse;
  }): Promise<void> {
    const { fault, run, api, entry, bucket, response } = scene;
    const finish = (answer: Answer) => this.#finish(response, entry, answer, bucket);
    switch (fault.kind) {
      case 'slow':
      case 'hold': {
        const early = fault.applied ? run() : undefined;
        if (fault.kind === 'hold') await fault.until;
        else await new Promise<void>((resolve) => this.#clock.after(fault.delayMs, resolve));
        return finish(early ?? run());
      }
      case 'answer': {
        const answer = run();
        // A copy, so that a rewriter cannot change the data of the API.
        const body: unknown = JSON.parse(JSON.stringify(answer.body));
        const { status, headers } = answer;
        const all = { ...headers, ...this.#limiter.headers(bucket) };
        const rewritten = fault.rewrite({ status, headers: all, body }, entry);
        entry.status = rewritten.status;
        return send(response, rewritten);
      }
      case 'truncated': {
        const answer = run();
        entry.status = answer.status;
        return sendHalf(response, { ...answer, ...this.#withLimit(answer, bucket) });
      }
    }
    if (fault.applied) run();
    switch (fault.kind) {
      case 'refuse-429':
      case 'refuse-200': {
        const status = fault.kind === 'refuse-200' ? 200 : 429;
        const answer = json(api.failure(TOO_MANY, status === 200), status);
        if (fault.retryAfter !== null) answer.headers['retry-after'] = `${fault.retryAfter ?? 60}`;
        return finish(answer);
      }
      case 'bad-key':
        return finish(run('a key that does not exist'));
      case 'error-500':
        return finish(json(api.failure('Internal server error'), 500));
      case 'html': {
        const page = htmlPage('Maintenance', '<p>We will be back shortly.</p>', fault.status);
        return finish({ ...page, body: fault.html ?? page.body });
      }
      case 'empty':
        return finish({ status: fault.status ?? 200, headers: {}, body: '' });
      case 'drop':
        response.destroy();
        return undefined;
      case 'hang':
        return undefined;
    }
  }

  #withLimit(answer: Answer, bucket: string): Answer {
    return { ...answer, headers: { ...this.#limiter.headers(bucket), ...answer.headers } };
  }

  #finish(response: ServerResponse, entry: Entry, answer: Answer, bucket: string): void {
    entry.status = answer.status;
    send(response, this.#withLimit(answer, bucket));
  }
}

/** Runs an endpoint, and converts its refusal to the API's error format. */
function effect(
  api: ApiDefinition,
  request: SandboxRequest,
  credential: string | undefined,
): Answer {
  try {
    return api.run(request, credential);
  } catch (error) {
    if (error instanceof Refusal) return json(api.failure(error.message), error.status);
    return json(api.failure('Internal server error'), 500);
  }
}
