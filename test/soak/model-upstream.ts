import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../src/scheduling/clock.ts';

/** What a row was called, or that there was none: from a moment on, until the next version. */
export interface Version {
  readonly name: string | null;
  /** On the clock of the upstream and the gateway alike, in milliseconds. */
  readonly at: number;
  /** The place among all events of the test, for what happens in one millisecond. */
  readonly order: number;
  /** Which write brought it, by what only that one says; `null` for a change made elsewhere. */
  readonly by: string | null;
  /** When the gateway had answered that write. */
  answered: number;
}

/** The lists that it keeps: in pages alone, in pages and by id, and whole and by id. */
export const nouns = ['channel', 'qr', 'user'] as const;
export type Noun = (typeof nouns)[number];

/** How an installation is. */
export interface Habits {
  /** Rows of a page at most. */
  readonly clamp: number;
  readonly newestFirst: boolean;
  /** Whether it reports how many rows and pages there are. */
  readonly tells: boolean;
  /** What others do there: give other names only, or add and remove rows as well. */
  readonly elsewhere: 'names' | 'rows';
  /**
   * Whether a list that is read whole must show every row. Without it a row may be missed whose list
   * changes between the reads of two of its pages.
   */
  readonly complete: boolean;
}

/** The longest that an answer takes. */
export const SLOWEST_MS = 3000;
const START_ROWS = 30;
/** One request in about this many meets a fault. */
const FAULT_EVERY = 25;

/**
 * An upstream of three lists that remembers what every row was at every moment. Its answers take a time of
 * their own for each page, and show the state of their beginning or of their end; some never come.
 */
export class ModelUpstream implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #roll: (sides: number) => number;
  readonly #habits: Habits;
  readonly #history = new Map<string, Version[]>();
  readonly #rows = new Map<Noun, Map<number, string>>(nouns.map((noun) => [noun, new Map()]));
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #ids = 0;
  #order = 0;
  faults = true;
  requests = 0;

  private constructor(clock: Clock, roll: (sides: number) => number, habits: Habits) {
    this.#clock = clock;
    this.#roll = roll;
    this.#habits = habits;
    for (const noun of nouns) {
      for (let n = 0; n < START_ROWS; n += 1) this.#create(noun, `${noun} ${n}`, null);
    }
  }

  static async start(
    clock: Clock,
    roll: (sides: number) => number,
    habits: Habits,
  ): Promise<ModelUpstream> {
    const upstream = new ModelUpstream(clock, roll, habits);
    await new Promise<void>((resolve) => {
      upstream.#server.listen(0, '127.0.0.1', resolve);
    });
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The place of the next event among all. */
  next(): number {
    this.#order += 1;
    return this.#order;
  }

  /** The ids of all rows that there ever were. */
  ids(noun: Noun): number[] {
    return [...this.#history.keys()]
      .filter((key) => key.startsWith(`${noun}:`))
      .map((key) => Number(key.slice(noun.length + 1)));
  }

  versions(noun: Noun, id: number): Version[] {
    const key = `${noun}:${id}`;
    const versions = this.#history.get(key) ?? [
      { name: null, at: Number.NEGATIVE_INFINITY, order: 0, by: null, answered: 0 },
    ];
    this.#history.set(key, versions);
    return versions;
  }

  /** Notes that the gateway has answered a write: from now on no reader may see what was before. */
  answered(by: string): void {
    const order = this.next();
    for (const versions of this.#history.values()) {
      for (const version of versions) {
        if (version.by === by && version.answered === Number.POSITIVE_INFINITY) {
          version.answered = order;
        }
      }
    }
  }

  /** A change that somebody else makes, in the upstream's own pages. */
  changeElsewhere(): void {
    const noun = nouns[this.#roll(nouns.length)] ?? 'qr';
    const rows = this.#rows.get(noun) as Map<number, string>;
    const id = [...rows.keys()][this.#roll(rows.size)];
    const kind = this.#habits.elsewhere === 'rows' ? this.#roll(3) : 2;
    if (kind === 0 || id === undefined) this.#create(noun, `elsewhere ${this.next()}`, null);
    else if (kind === 1 && rows.size > 10) this.#set(noun, id, null, null);
    else this.#set(noun, id, `elsewhere ${this.next()}`, null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #create(noun: Noun, name: string, by: string | null): number {
    this.#ids += 1;
    this.#set(noun, this.#ids, name, by);
    return this.#ids;
  }

  #set(noun: Noun, id: number, name: string | null, by: string | null): void {
    const rows = this.#rows.get(noun) as Map<number, string>;
    if (name === null) rows.delete(id);
    else rows.set(id, name);
    const answered = by === null ? 0 : Number.POSITIVE_INFINITY;
    const at = this.#clock.now();
    this.versions(noun, id).push({ name, at, order: this.next(), by, answered });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString() || '{}') as { name?: string };
    const act = (): unknown => this.#answer(request, body);
    const fault = this.faults && this.#roll(FAULT_EVERY) === 0 ? this.#roll(5) : -1;
    const early = this.#roll(2) === 0 ? act() : undefined;
    await new Promise<void>((resolve) => {
      this.#clock.after(20 + this.#roll(this.#roll(4) === 0 ? SLOWEST_MS : 200), resolve);
    });
    // A fault bites before or after the effect, as it comes.
    if (fault === 0) return void response.destroy();
    if (fault === 1) return void response.writeHead(500).end('{"error":1,"message":"Oops"}');
    if (fault === 2) return void response.end('<html>');
    if (fault === 3) return;
    const answer = JSON.stringify(early ?? act());
    if (fault === 4) return void response.destroy();
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  }

  #answer({ method, url = '' }: IncomingMessage, { name = '' }: { name?: string }): unknown {
    const { pathname, searchParams } = new URL(url, 'http://upstream');
    const [, , first = '', second, third] = pathname.split('/');
    const noun = first.replace(/s$/, '') as Noun;
    const rows = this.#rows.get(noun);
    if (!rows) return { error: 0, data: { id: 1, email: 'a@x.example' } };
    if (second === undefined) return this.#list(noun, searchParams);
    if (second === 'add') return { error: 0, id: this.#create(noun, name, name) };
    const id = Number(second);
    const row = rows.get(id);
    if (row === undefined) return { error: 1, message: 'Not found' };
    if (method === 'GET') {
      const data = { clicks: 1 };
      return noun === 'qr'
        ? { error: 0, details: { id, name: row }, data }
        : { error: 0, data: { id, username: row } };
    }
    if (third === 'delete') this.#set(noun, id, null, `delete ${noun} ${id}`);
    else this.#set(noun, id, name, name);
    return { error: 0, message: 'Done' };
  }

  #list(noun: Noun, query: URLSearchParams): unknown {
    const rows = [...(this.#rows.get(noun) ?? [])]
      .sort(([a], [b]) => (this.#habits.newestFirst ? b - a : a - b))
      .map(([id, name]) => (noun === 'user' ? { id, username: name } : { id, name }));
    if (noun === 'user') return { error: 0, data: rows };
    const page = Number(query.get('page'));
    const perpage = Math.min(Number(query.get('limit')), this.#habits.clamp);
    const maxpage = Math.ceil(rows.length / perpage);
    const counts = this.#habits.tells ? { result: rows.length, perpage, maxpage } : {};
    const nextpage = page < maxpage ? page + 1 : null;
    const shown = rows.slice((page - 1) * perpage, page * perpage);
    const data = {
      ...counts,
      currentpage: page,
      nextpage,
      [noun === 'qr' ? 'qrs' : 'channels']: shown,
    };
    return { error: 0, data };
  }
}
