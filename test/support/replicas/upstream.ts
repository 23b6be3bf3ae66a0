import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Quota, type QuotaOptions } from './quota.ts';
import { type Noun, VersionedRows } from './rows.ts';

/** The upstream's key, which nothing but requests to it may hold. */
export const KEY = 'key-of-the-replicas-account';

/** A request as the upstream saw it; times are of `performance.now()`, in milliseconds. */
export interface UpstreamRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly key: string;
  readonly at: number;
  /**
   * When the last of its answer was given away, or its connection was gone; infinite until then. Not when that was
   * noticed: this process may be busy, and whoever has the answer reckons from there.
   */
  endedAt: number;
  /** HTTP status of its answer; 0 while, or if, there is none. */
  status: number;
  /** When its sender gave it up before it was answered; infinite where it did not. */
  givenUpAt: number;
}

/** How the upstream behaves; a test may change it while it runs. */
export interface Conduct {
  /**
   * Milliseconds from a request's arrival until it takes effect or is looked up, and from then until the
   * answer leaves. Infinite: there is no answer.
   */
  delays: (request: UpstreamRequest) => readonly [before: number, after: number];
  /** HTTP status of a request that is to fail; `null` for the others. */
  fails: (request: UpstreamRequest) => number | null;
  /** Told of each write when it has taken effect and before it is answered. */
  onEffect: (request: UpstreamRequest) => void;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/**
 * As much of the link-management API as is needed to hold several gateways against it: users without end,
 * each of them a resource of its own, three short lists whose rows can be renamed, and uploads. It knows
 * when each request came, whose write every read shows, and can stop between an effect and its answer.
 */
export class VersionedUpstream implements AsyncDisposable {
  readonly requests: UpstreamRequest[] = [];
  /** Requests that no endpoint of it is for: a test asks for what it cannot do. */
  readonly unknown: string[] = [];
  readonly rows = new VersionedRows();
  readonly conduct: Conduct = {
    delays: () => [0, 0],
    fails: () => null,
    onEffect: () => undefined,
  };
  readonly #quota: Quota | null;
  readonly #lag = monitorEventLoopDelay({ resolution: 10 });
  readonly #server = createServer((request, response) => {
    // Whoever is killed in mid-request leaves a body that ends too soon.
    this.#answer(request, response).catch(() => response.destroy());
  });

  private constructor(quota: QuotaOptions | null) {
    this.#quota = quota && new Quota(quota);
    this.#lag.enable();
  }

  /** Starts one on a free port; without a quota it takes everything and says nothing of a limit. */
  static async start(quota: QuotaOptions | null = null): Promise<VersionedUpstream> {
    const upstream = new VersionedUpstream(quota);
    await once(upstream.#server.listen(0, '127.0.0.1'), 'listening');
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** For how long, at most, it did not look whether a request had come: its log is no better than that. */
  get longestLagMs(): number {
    return Math.round(this.#lag.max / 1e6);
  }

  /** Requests of somebody else who uses the same key; they are in no log. */
  spend(requests: number): void {
    this.#quota?.spend(requests);
  }

  /** The requests to these paths. */
  requestsTo(path: RegExp): UpstreamRequest[] {
    return this.requests.filter((request) => path.test(request.path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lag.disable();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request: UpstreamRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      key: incoming.headers.authorization ?? '',
      at: performance.now(),
      endedAt: Number.POSITIVE_INFINITY,
      status: 0,
      givenUpAt: Number.POSITIVE_INFINITY,
    };
    this.requests.push(request);
    response.once('close', () => {
      request.endedAt = Math.min(request.endedAt, performance.now());
      if (request.status === 0) request.givenUpAt = performance.now();
    });
    const waitMs = this.#quota?.take() ?? null;
    const reply = waitMs === null ? await this.#run(request, incoming) : refusal(waitMs);
    if (reply === null) return;
    request.status = reply.status;
    const headers = { ...this.#quota?.headers(), ...reply.headers };
    request.endedAt = performance.now();
    response.writeHead(reply.status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(reply.body));
  }

  async #run(request: UpstreamRequest, incoming: IncomingMessage): Promise<Reply | null> {
    const [before, after] = this.conduct.delays(request);
    // What never takes effect is left alone until its connection goes.
    if (before === Number.POSITIVE_INFINITY) return null;
    if (before > 0) await pause(before);
    const failure = this.conduct.fails(request);
    const body =
      failure === null
        ? await this.#effect(request, incoming)
        : { error: failure, message: 'Something is wrong here' };
    if (failure === null && request.method !== 'GET') this.conduct.onEffect(request);
    if (after === Number.POSITIVE_INFINITY) return null;
    if (after > 0) await pause(after);
    return { status: failure ?? 200, headers: {}, body };
  }

  async #effect(request: UpstreamRequest, incoming: IncomingMessage): Promise<object> {
    const { method } = request;
    const [, what = '', name = '', action = ''] = request.path
      .replace(/\?.*/, '')
      .slice('/api'.length)
      .split('/');
    if (method === 'GET' && what === 'user') {
      return { error: 0, data: { id: Number(name), email: `user${name}@example.com` } };
    }
    if (method === 'GET' && what === 'account') {
      return { error: 0, data: { id: 1, username: 'owner', email: 'owner@example.com' } };
    }
    if (method === 'GET' && isNoun(what)) {
      const rows = this.rows.list(what);
      const page = {
        result: rows.length,
        perpage: 100,
        currentpage: 1,
        nextpage: null,
        maxpage: 1,
      };
      return { error: '0', data: { ...page, [what]: rows } };
    }
    const noun = `${what}s`;
    if (method === 'PUT' && action === 'update' && isNoun(noun)) {
      const sent = (await json(incoming)) as { name: string };
      this.rows.rename(noun, Number(name), sent.name);
      return { error: 0, id: Number(name) };
    }
    if (method === 'POST' && what === 'files') {
      await incoming.resume().toArray();
      return { error: 0, id: this.requests.length };
    }
    this.unknown.push(`${method} ${request.path}`);
    return { error: 404, message: 'There is no such thing' };
  }
}

function isNoun(what: string): what is Noun {
  return what === 'campaigns' || what === 'channels' || what === 'pixels';
}

function refusal(waitMs: number): Reply {
  return {
    status: 429,
    headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) },
    body: { error: 429, message: 'Too many requests' },
  };
}
