import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../src/scheduling/clock.ts';

/** A row with a count that changes by itself. */
export interface CountedRow {
  readonly id: number;
  /** As the API writes it; absent for an installation that sends none. */
  readonly date?: string;
  count: number;
}

/** A value that a response has shown: of `scans 7`, `downloads 7`, `balance`, `total qrCodes` or `total files`. */
export interface Shown {
  readonly wallMs: number;
  readonly count: string;
  readonly value: number;
}

const PER_PAGE = 10;

/**
 * Both APIs over rows that a test changes as other programs would. Notes each value that it has sent, and when: the
 * truth that a history is held against.
 */
export class ModelAccounts implements AsyncDisposable {
  qrCodes: CountedRow[] = [];
  files: CountedRow[] = [];
  balance = 100;
  perPage = PER_PAGE;
  currency = 'EUR';
  /** Whether no key is valid. */
  refusesKeys = false;
  /** Whether each request fails. */
  fails = false;
  readonly shown: Shown[] = [];
  readonly requests: string[] = [];
  readonly #clock: Clock;
  readonly #server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://model');
    url.searchParams.delete('api_key');
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    this.#answer(request.method ?? '', url, response);
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  static async start(clock: Clock): Promise<ModelAccounts> {
    const model = new ModelAccounts(clock);
    await once(model.#server.listen(0, '127.0.0.1'), 'listening');
    return model;
  }

  /** The settings of a gateway over both. */
  get env(): Record<string, string> {
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return {
      AUTH_MODE: 'none',
      LINKS_BASE_URL: url,
      LINKS_API_KEY: 'links-key',
      LINKS_PAGE_SIZE: String(PER_PAGE),
      LINKS_RATE_LIMIT: '1000000',
      MARKET_BASE_URL: url,
      MARKET_API_KEY: 'market-key',
      MARKET_RATE_LIMIT: '1000000',
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #show(count: string, value: number): number {
    this.shown.push({ wallMs: this.#clock.wall(), count, value });
    return value;
  }

  #answer(method: string, url: URL, response: ServerResponse): void {
    const send = (body: object) => {
      response.writeHead(this.fails ? 500 : 200, { 'content-type': 'application/json' });
      response.end(this.fails ? 'Internal Server Error' : JSON.stringify(body));
    };
    if (this.refusesKeys) {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":1,"message":"A valid API key is required to use this service."}');
      return;
    }
    const [, , noun = '', id = ''] = url.pathname.split('/');
    if (noun === 'account' && id === 'details') {
      const balance = this.#show('balance', this.balance);
      send({ status: 'success', data: { username: 'seller', balance, currency: this.currency } });
    } else if (noun === 'account') {
      send({ error: 0, data: { id: 1, username: 'owner' } });
    } else if (method === 'DELETE') {
      this.qrCodes = this.qrCodes.filter((row) => row.id !== Number(id));
      send({ error: 0, message: 'deleted' });
    } else if (noun === 'qr' && id) {
      const row = this.qrCodes.find((each) => each.id === Number(id));
      send(row ? { error: 0, details: this.#qrCode(row) } : { error: 1, message: 'not found' });
    } else if (noun === 'qr') {
      send({
        error: 0,
        data: this.#page('qrCodes', url, this.qrCodes, 'qrs', (row) => this.#qrCode(row)),
      });
    } else {
      const file = (row: CountedRow) => ({
        id: row.id,
        name: `file ${row.id}`,
        downloads: this.#show(`downloads ${row.id}`, row.count),
        ...(row.date === undefined ? {} : { date: row.date }),
      });
      send({ error: 0, ...this.#page('files', url, this.files, 'list', file) });
    }
  }

  #qrCode(row: CountedRow) {
    return {
      id: row.id,
      name: `code ${row.id}`,
      scans: this.#show(`scans ${row.id}`, row.count),
      ...(row.date === undefined ? {} : { date: row.date }),
    };
  }

  #page(
    list: string,
    { searchParams }: URL,
    rows: readonly CountedRow[],
    member: string,
    view: (row: CountedRow) => object,
  ) {
    const page = Number(searchParams.get('page') ?? 1);
    const maxpage = Math.max(1, Math.ceil(rows.length / this.perPage));
    return {
      // A search is another list.
      result: searchParams.has('name') ? rows.length : this.#show(`total ${list}`, rows.length),
      perpage: this.perPage,
      currentpage: page,
      nextpage: page < maxpage ? page + 1 : null,
      maxpage,
      [member]: rows.slice((page - 1) * this.perPage, page * this.perPage).map(view),
    };
  }
}
