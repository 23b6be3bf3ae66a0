import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createGunzip } from 'node:zlib';
import { closing } from './closing.ts';
import type { AnswerError } from './gateway.ts';

/** One event of a stream, as it came. */
export interface LiveEvent {
  /** `next`, `age`, `complete`, or `comment`. */
  readonly name: string;
  /** What `data` holds as JSON; null where it is empty. */
  readonly data: LiveEventData | null;
  readonly text: string;
  readonly retryMs: number | null;
}

interface LiveEventData {
  readonly data?: unknown;
  readonly errors?: readonly AnswerError[];
  readonly extensions?: {
    readonly upstream?: { readonly calls: number };
    readonly live?: {
      readonly revision: number;
      readonly ageMs: number;
      readonly nextRefreshInMs: number | null;
    };
  };
}

/** What a query looks like at the moment. */
interface LiveDocument {
  readonly data?: unknown;
  readonly errors?: readonly AnswerError[];
}

/** How a viewer asks. */
export interface Looking {
  readonly query?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The whole body, in the place of both. */
  readonly body?: object;
  /** Whether it reads events that say that nothing has changed. */
  readonly readsAges?: boolean;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Those who look. */
const open = new Set<LiveViewer>();

/** Somebody who looks at a live query over a socket of their own, and holds what it looks like now. */
export class LiveViewer {
  /** All that was told, in order. */
  readonly events: LiveEvent[] = [];
  /** The latest result: `data` and `errors`. */
  document: LiveDocument = {};
  revision = 0;
  status = 0;
  headers: IncomingMessage['headers'] = {};
  /** Whether the stream is over, however that came. */
  ended = false;
  /** The whole body of an answer that is no stream. */
  text = '';
  readonly #request: ClientRequest;
  #response: IncomingMessage | null = null;
  #unread = '';
  readonly #waiting = new Set<() => void>();

  private constructor(url: string, looking: Looking) {
    const { body, headers, query, readsAges = true, token, variables } = looking;
    this.#request = request(`${url}/graphql`, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        accept: `text/event-stream${readsAges ? ';live=age' : ''}`,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    this.#request.on('error', () => this.#end());
    this.#request.on('response', (response) => this.#listen(response));
    this.#request.end(JSON.stringify(body ?? { query, variables }));
  }

  /** Begins to look; until the end of the test at the latest. */
  static open(url: string, looking: Looking): LiveViewer {
    const viewer = new LiveViewer(url, looking);
    open.add(viewer);
    closing(() => viewer.close());
    return viewer;
  }

  /** Begins to look, and waits for the first result. */
  static begun(url: string, looking: Looking): Promise<LiveViewer> {
    return LiveViewer.open(url, looking).until(({ revision }) => revision > 0);
  }

  /** Everybody hangs up. */
  static closeAll(): void {
    for (const viewer of open) viewer.close();
    open.clear();
  }

  /** The data as it is now. */
  get data(): unknown {
    return this.document.data;
  }

  /** The events of some names. */
  named(...names: readonly string[]): LiveEvent[] {
    return this.events.filter(({ name }) => names.includes(name));
  }

  /** Waits until something is so; looks after each event. */
  async until(isSo: (viewer: LiveViewer) => boolean): Promise<LiveViewer> {
    while (!isSo(this)) {
      if (this.ended) throw new Error(`The stream has ended:\n${this.told}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return this;
  }

  /** Waits for the end of the stream. */
  async untilEnded(): Promise<LiveViewer> {
    while (!this.ended) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    return this;
  }

  /** Takes nothing more, and keeps the connection. */
  stall(): void {
    this.#response?.pause();
  }

  /** Takes what there is again. */
  goOn(): void {
    this.#response?.resume();
  }

  /** Hangs up. */
  close(): void {
    this.#request.destroy();
    this.#end();
  }

  /** What was told, for a failing test. */
  get told(): string {
    return this.events.map(({ text }) => text).join('\n\n') || this.text;
  }

  #listen(response: IncomingMessage): void {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    const isStream = response.headers['content-type']?.startsWith('text/event-stream') ?? false;
    const isPacked = response.headers['content-encoding'] === 'gzip';
    const body = isPacked ? response.pipe(createGunzip()) : response;
    body.setEncoding('utf8');
    body.on('data', (piece: string) => {
      if (isStream) this.#read(piece);
      else this.text += piece;
    });
    // What was compressed is read behind the end of the response, if that has come.
    if (isPacked) body.on('end', () => this.#end());
    response.on('close', () => {
      if (!isPacked || !response.complete) this.#end();
    });
    this.#wake();
  }

  #read(piece: string): void {
    this.#unread += piece;
    for (let end = this.#unread.indexOf('\n\n'); end >= 0; end = this.#unread.indexOf('\n\n')) {
      const text = this.#unread.slice(0, end);
      this.#unread = this.#unread.slice(end + 2);
      this.#take(text);
    }
    this.#wake();
  }

  #take(text: string): void {
    const fields = new Map(
      text.split('\n').map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
      }),
    );
    const json = fields.get('data') ?? '';
    const data = json === '' ? null : (JSON.parse(json) as LiveEventData);
    const name = fields.get('event') ?? 'comment';
    const retry = fields.get('retry');
    this.events.push({ name, data, text, retryMs: retry === undefined ? null : Number(retry) });
    const { live } = data?.extensions ?? {};
    if (name === 'next' && data) {
      const { data: result, errors } = data;
      this.document = { ...('data' in data && { data: result }), ...(errors && { errors }) };
    }
    if (live) this.revision = live.revision;
  }

  #end(): void {
    this.ended = true;
    open.delete(this);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
