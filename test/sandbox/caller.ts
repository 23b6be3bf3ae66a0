import {
  type Sandbox,
  type SandboxClock,
  type SandboxOptions,
  startSandbox,
} from '../../src/sandbox/sandbox.ts';

export interface Reply {
  status: number;
  headers: Headers;
  body: Members;
}

/**
 * The members of both documents in one: a test follows the document by name, and one that is
 * missing shows as undefined in what it expects.
 */
export interface Members {
  error: number | string;
  status: string;
  data: Members;
  details: Members;
  domains: Members[];
  cta: Members[];
  campaigns: Members[];
  channels: Members[];
  splash: Members[];
  pixels: Members[];
  qrs: Members[];
  items: Members[];
  /** Of files; a campaign's is an address. */
  list: Members[] & string;
  result: number;
  perpage: number;
  currentpage: number;
  nextpage: number | null;
  maxpage: number;
  id: number;
  name: string;
  title: string;
  type: string;
  date: string;
  email: string;
  avatar: string;
  apikey: string;
  link: string;
  url: string;
  shorturl: string;
  downloads: number;
  domain: string;
  rotator: string | false;
  public: boolean;
  free: boolean;
  prices: object | null;
  limits: Record<string, unknown>;
  media: Record<string, unknown> & { screenshots?: string[] };
  item: Members;
  purchase: Members;
  supported_until?: string;
}

/** Members whose value is an array of rows, inside `data`. */
export type ListKey =
  | 'domains'
  | 'cta'
  | 'campaigns'
  | 'channels'
  | 'splash'
  | 'pixels'
  | 'qrs'
  | 'items';

/** The rows of an answer whose `data` is an array. */
export function rowsOf({ body }: Reply): Members[] {
  return body.data as unknown as Members[];
}

/** Speaks plain HTTP to the link API with a key. */
export class Caller {
  readonly sandbox: Sandbox;
  readonly key: string | undefined;

  constructor(sandbox: Sandbox, key: string | undefined = sandbox.links.key) {
    this.sandbox = sandbox;
    this.key = key;
  }

  as(key: string | undefined): Caller {
    return new Caller(this.sandbox, key);
  }

  get(path: string): Promise<Reply> {
    return this.send('GET', path);
  }

  post(path: string, body?: unknown): Promise<Reply> {
    return this.send('POST', path, body);
  }

  put(path: string, body?: unknown): Promise<Reply> {
    return this.send('PUT', path, body);
  }

  delete(path: string): Promise<Reply> {
    return this.send('DELETE', path);
  }

  async send(method: string, path: string, body?: unknown): Promise<Reply> {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (this.key !== undefined) headers.authorization = `Bearer ${this.key}`;
    const response = await fetch(`${this.sandbox.links.url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: encode(body) }),
    });
    return reply(response);
  }
}

function encode(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
}

export async function reply(response: Response): Promise<Reply> {
  const { status, headers } = response;
  return { status, headers, body: await response.json() };
}

/** A sandbox whose limit does not stand in the way of a test of something else. */
export async function startRoomy(options: SandboxOptions = {}): Promise<Caller> {
  return new Caller(await startSandbox({ limit: { requests: 100_000 }, ...options }));
}

export class HandClock implements SandboxClock {
  #time = Date.UTC(2025, 10, 20, 12, 0, 0);
  #tasks: { at: number; task: () => void }[] = [];

  wall(): number {
    return this.#time;
  }

  after(ms: number, task: () => void): () => void {
    const entry = { at: this.#time + ms, task };
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry);
    };
  }

  get waiting(): number {
    return this.#tasks.length;
  }

  move(ms: number): void {
    this.#time += ms;
    const due = this.#tasks.filter(({ at }) => at <= this.#time);
    this.#tasks = this.#tasks.filter(({ at }) => at > this.#time);
    for (const { task } of due) task();
  }
}

/** Waits until something has happened on the other side of a socket, without looking at a clock. */
export async function until(happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise((resolve) => setImmediate(resolve));
}
