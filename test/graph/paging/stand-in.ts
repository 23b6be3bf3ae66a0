import { beforeAll, beforeEach } from 'vitest';
import { startWorld, type World } from '../../support/gateway.ts';
import { ScriptedUpstream } from '../../support/scripted-upstream.ts';

/** An item of a channel, as the API sends it. */
export interface StandInItem {
  readonly type: 'links' | 'bio' | 'qr';
  readonly id: number;
}

/**
 * The lists of the link API over real sockets, their rows in the hands of a test: what somebody else
 * changes there is one line, and each answer can take a time of its own.
 */
export class StandIn implements AsyncDisposable {
  channels: number[] = [];
  qrs: number[] = [];
  readonly items = new Map<number, StandInItem[]>();
  /** Whether an answer shows the rows as they are when it leaves, and not when its request came. */
  late = false;
  /** Real milliseconds from a request's arrival to its answer. */
  delay: (path: string, page: number) => number = () => 0;
  /** Requests since it was emptied, as `/api/qr 3` for page 3 or `/api/qr/7`. */
  readonly log: string[] = [];
  /** How many rows a page says that there are; `undefined` for a page that says nothing of it. */
  tells: (rows: number, page: number) => number | undefined = (rows) => rows;
  /** Rows of the page before that each page begins with once more. */
  repeats = 0;
  /** Called before each request is answered, with the number of requests so far: others change rows here. */
  before: (nth: number) => void = () => {};
  /** A path that nothing but errors come from. */
  broken: string | null = null;
  readonly #upstream: ScriptedUpstream;

  private constructor(upstream: ScriptedUpstream) {
    this.#upstream = upstream;
    upstream.onRequest = (arrival) => {
      const { url, response } = arrival;
      const page = url.searchParams.get('page');
      this.log.push(page === null ? url.pathname : `${url.pathname} ${page}`);
      this.before(this.log.length);
      if (url.pathname === this.broken) {
        arrival.answer({ error: 1, message: 'Broken' }, 500);
        return;
      }
      const run = () => this.#answer(response.req.method ?? 'GET', url);
      const early = this.late ? undefined : run();
      const delay = this.delay(url.pathname, Number(page));
      setTimeout(() => arrival.answer(early ?? run()), delay);
    };
  }

  static async start(): Promise<StandIn> {
    return new StandIn(await ScriptedUpstream.start());
  }

  get baseUrl(): string {
    return this.#upstream.baseUrl;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#upstream[Symbol.asyncDispose]();
  }

  #answer(method: string, url: URL): unknown {
    const [, , noun, number, verb, type, item] = url.pathname.split('/');
    const id = Number(number);
    if (method === 'DELETE') {
      if (noun === 'channel') this.channels = this.channels.filter((each) => each !== id);
      if (noun === 'qr') this.#takeOut({ type: 'qr', id });
      return { error: 0, message: 'Deleted' };
    }
    if (method === 'POST' && number === 'add') {
      const made = 1 + Math.max(5000, ...this.channels);
      this.channels = [made, ...this.channels];
      return { error: 0, id: made };
    }
    if (verb === 'assign') {
      // An item is in one channel at most here.
      const moved = { type, id: Number(item) } as StandInItem;
      this.#takeOut(moved);
      this.items.set(id, [moved, ...(this.items.get(id) ?? [])]);
      return { error: 0, message: 'Added' };
    }
    if (noun === 'channels') {
      const row = (channel: number) => ({ id: channel, name: `Channel ${channel}` });
      return this.#page('channels', this.channels.map(row), url);
    }
    if (noun === 'channel') return this.#page('items', this.items.get(id) ?? [], url);
    if (number === undefined) {
      const row = (code: number) => ({ id: code, name: `Code ${code}` });
      return this.#page('qrs', this.qrs.map(row), url);
    }
    if (!this.qrs.includes(id)) return { error: 1, message: 'QR code does not exist.' };
    return { error: 0, details: { id, name: `Code ${id}` }, data: [] };
  }

  #takeOut({ type, id }: StandInItem): void {
    for (const [channel, items] of this.items) {
      const others = items.filter((each) => each.type !== type || each.id !== id);
      this.items.set(channel, others);
    }
  }

  #page(key: string, rows: readonly unknown[], { searchParams }: URL): unknown {
    const perpage = Number(searchParams.get('limit'));
    const currentpage = Number(searchParams.get('page'));
    const maxpage = Math.max(1, Math.ceil(rows.length / perpage));
    const nextpage = currentpage < maxpage ? currentpage + 1 : null;
    const from = (currentpage - 1) * perpage;
    const part = rows.slice(Math.max(0, from - this.repeats), from + perpage);
    const result = this.tells(rows.length, currentpage);
    const members = { result, perpage, currentpage, nextpage, maxpage };
    return { error: 0, data: { ...members, [key]: part } };
  }
}

/** The integers from 1 up to and with one. */
export const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);

/** A stand-in, and for each test a gateway over it with pages of ten rows, which `prepare` lets read what it should know. */
export function overStandIn(prepare: (upstream: StandIn, world: World) => Promise<void>): void {
  let upstream: StandIn;
  let world: World;
  beforeAll(async () => {
    upstream = await StandIn.start();
  });
  beforeEach(async () => {
    const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_PAGE_SIZE: '10' };
    world = await startWorld({ only: 'links', env });
    await prepare(upstream, world);
    upstream.log.length = 0;
  });
}
