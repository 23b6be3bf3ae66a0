import { once } from 'node:events';
import { hrtime } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
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
  /** When its answer was given away, or its connection was gone; infinite until then. */
  endedAt: number;
  /** HTTP status of its answer; 0 while, or if, there is none. */
  status: number;
}

/** What the thread at the socket reports; times are of `hrtime`, in milliseconds. */
type Report =
  | { readonly kind: 'listening'; readonly port: number }
  | {
      readonly kind: 'request';
      readonly id: number;
      readonly at: number;
      readonly method: string;
      readonly path: string;
      readonly key: string;
    }
  | { readonly kind: 'whole'; readonly id: number; readonly body: string }
  | { readonly kind: 'answered' | 'closed'; readonly id: number; readonly at: number };

/** How the upstream behaves; a test may change it while it runs. */
export interface Conduct {
  /**
   * Milliseconds from a request's arrival until it takes effect or is looked up, and from then until the
   * answer leaves. Infinite: there is no answer.
   */
  delays: (request: UpstreamRequest) => readonly [before: number, after: number];
  /** HTTP status of a request that is to fail; `null` for the others. */
  fails: (request: UpstreamRequest) => number | null;
  /** Called with each write when it has taken effect and before it is answered. */
  onEffect: (request: UpstreamRequest) => void;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/**
 * As much of the link-management API as is needed to hold several gateways against it: users without end,
 * each of them a resource of its own, three short lists whose rows can be renamed, creations whose rows no list shows, and uploads. It knows
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
  readonly #door = new Worker(new URL('upstream-door.mjs', import.meta.url));
  /** The requests whose connections are not closed yet. */
  readonly #open = new Map<number, UpstreamRequest>();
  /** From `hrtime` to `performance.now()`, in milliseconds. */
  readonly #offset = performance.now() - Number(hrtime.bigint()) / 1e6;
  #port = 0;

  private constructor(quota: QuotaOptions | null) {
    this.#quota = quota && new Quota(quota);
    this.#door.on('message', (report: Report) => this.#hear(report));
  }

  /** Starts one on a free port; without a quota it takes everything and says nothing of a limit. */
  static async start(quota: QuotaOptions | null = null): Promise<VersionedUpstream> {
    const upstream = new VersionedUpstream(quota);
    await once(upstream.#door, 'message');
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Requests of a co-tenant, who uses the same key; they are in no log. */
  spend(requests: number): void {
    this.#quota?.spend(requests);
  }

  /** The requests to these paths. */
  requestsTo(path: RegExp): UpstreamRequest[] {
    return this.requests.filter((request) => path.test(request.path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#door.terminate();
  }

  #hear(report: Report): void {
    if (report.kind === 'listening') {
      this.#port = report.port;
      return;
    }
    if (report.kind === 'request') {
      const { id, method, path, key } = report;
      const at = report.at + this.#offset;
      const request = { method, path, key, at, endedAt: Number.POSITIVE_INFINITY, status: 0 };
      this.requests.push(request);
      this.#open.set(id, request);
      return;
    }
    const request = this.#open.get(report.id);
    if (!request) return;
    if (report.kind === 'whole') void this.#answer(report.id, request, report.body);
    else request.endedAt = Math.min(request.endedAt, report.at + this.#offset);
    if (report.kind === 'closed') this.#open.delete(report.id);
  }

  async #answer(id: number, request: UpstreamRequest, sent: string): Promise<void> {
    const waitMs = this.#quota?.take() ?? null;
    const reply = waitMs === null ? await this.#run(request, sent) : refusal(waitMs);
    if (reply === null || !this.#open.has(id)) return;
    request.status = reply.status;
    const headers = {
      'content-type': 'application/json',
      ...this.#quota?.headers(),
      ...reply.headers,
    };
    const body = JSON.stringify(reply.body);
    this.#door.postMessage({ id, status: reply.status, headers, body }, []);
  }

  async #run(request: UpstreamRequest, sent: string): Promise<Reply | null> {
    const [before, after] = this.conduct.delays(request);
    // What never takes effect is left alone until its connection goes.
    if (before === Number.POSITIVE_INFINITY) return null;
    if (before > 0) await pause(before);
    const failure = this.conduct.fails(request);
    const body =
      failure === null
        ? this.#effect(request, sent)
        : { error: failure, message: 'Something is wrong here' };
    if (failure === null && request.method !== 'GET') this.conduct.onEffect(request);
    if (after === Number.POSITIVE_INFINITY) return null;
    if (after > 0) await pause(after);
    return { status: failure ?? 200, headers: {}, body };
  }

  #effect(request: UpstreamRequest, sent: string): object {
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
      const input = JSON.parse(sent) as { name: string };
      this.rows.rename(noun, Number(name), input.name);
      return { error: 0, id: Number(name) };
    }
    if (method === 'POST' && (what === 'files' || name === 'add')) {
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
