import { describe, expect, test } from 'vitest';
import type { EntryState } from '../../../src/upstream/cache/cache.ts';
import type { Client } from '../../../src/upstream/client.ts';
import { findById } from '../../../src/upstream/lists/find-by-id.ts';
import { Lists } from '../../../src/upstream/lists/pages.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import type { List, Page, Read, Row } from '../../../src/upstream/request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** Rows of a page. */
const SIZE = 10;

/** A client that answers from a list of ids, keeps every answer, and notes what it had to ask for. */
class FakeClient {
  readonly log: string[] = [];
  readonly #kept = new Map<string, { value: unknown; state: EntryState }>();
  readonly #under = new Map<string, Promise<unknown>>();
  readonly #ids: readonly number[];
  /** Paths that fail. */
  readonly broken = new Set<string>();
  /** Whether pages say how many there are. */
  tellsLength = true;

  constructor(ids: readonly number[]) {
    this.#ids = ids;
  }

  read<T>(read: Read<T>): Promise<T> {
    const key = keyOf(read);
    const kept = this.#kept.get(key);
    if (kept && kept.state !== 'fallback') return Promise.resolve(kept.value as T);
    const under = this.#under.get(key);
    if (under) return under as Promise<T>;
    this.log.push(key);
    if (this.broken.has(key)) return Promise.reject(new Error(`${key} is broken`));
    const value = this.#answer(read);
    this.#kept.set(key, { value, state: 'fresh' });
    return Promise.resolve(value as T);
  }

  peek(read: Read<unknown>) {
    const kept = this.#kept.get(keyOf(read));
    return kept && { entry: { value: kept.value }, state: kept.state };
  }

  hasSaved(): boolean {
    return false;
  }

  prefetch(): void {}

  prefetches(): boolean {
    return false;
  }

  inFlight(read: Read<unknown>): boolean {
    return this.#under.has(keyOf(read));
  }

  /** Makes an answer one that is on its way. */
  fly(key: string, answer: Promise<unknown>): void {
    this.#kept.delete(key);
    this.#under.set(key, answer);
  }

  /** Lets an answer grow so old that it serves only in need. */
  age(key: string): void {
    const kept = this.#kept.get(key);
    if (kept) this.#kept.set(key, { ...kept, state: 'fallback' });
  }

  drop(key: string): void {
    this.#kept.delete(key);
  }

  page(number: number): Page<Row> {
    const total = this.tellsLength ? this.#ids.length : null;
    const rows = this.#ids.slice((number - 1) * SIZE, number * SIZE).map((id) => ({ id }));
    const last = number * SIZE >= this.#ids.length;
    return {
      rows,
      total,
      perPage: SIZE,
      currentPage: number,
      nextPage: last ? 0 : number + 1,
      maxPage: total === null ? null : Math.ceil(total / SIZE),
      sent: rows.length,
    };
  }

  #answer(read: Read<unknown>): unknown {
    const single = /^\/thing\/(\d+)$/.exec(read.path);
    if (!single) return this.page(Number(read.query?.['page'] ?? 1));
    const id = Number(single[1]);
    return this.#ids.includes(id) ? { id } : null;
  }
}

function keyOf({ path, query }: Read<unknown>): string {
  return query?.['page'] ? `page ${query['page']}` : path;
}

const list: List<Row> = {
  resource: 'items',
  tags: ['things'],
  path: '/things',
  paged: true,
  decode: () => {
    throw new Error('not decoded here');
  },
};
const withSingle: List<Row> = {
  ...list,
  single: (id) => ({
    method: 'GET',
    path: `/thing/${id}`,
    resource: 'items',
    tags: [`thing:${id}`],
    decode: () => null,
  }),
};

/** Ids 1 to 35 on four pages. */
function createWorld(ids = Array.from({ length: 35 }, (_, n) => n + 1)) {
  const client = new FakeClient(ids);
  const lists = new Lists(client as unknown as Client, SIZE);
  const access: Access = {
    caller: {
      name: 'someone',
      receipt: new Receipt(new VirtualClock()),
      maxWaitMs: 0,
      signal: new AbortController().signal,
    },
    credential: { partition: 'p', secret: 'secret' },
  };
  const find = async (wanted: readonly number[], of: List<Row> = withSingle) => {
    client.log.length = 0;
    const found = await findById(lists, of, wanted, access);
    expect([...found.keys()].sort((a, b) => a - b)).toEqual([...wanted].sort((a, b) => a - b));
    return found;
  };
  const readPage = (number: number, of: List<Row> = withSingle) => lists.page(of, number, access);
  return { client, lists, find, readPage };
}

describe('findById', () => {
  test('takes rows of a kept page at no call', async () => {
    const { client, find, readPage } = createWorld();
    await readPage(1);
    expect(await find([3, 7, 10])).toEqual(new Map([3, 7, 10].map((id) => [id, { id }])));
    expect(client.log).toEqual([]);
  });

  test('takes rows of a page on its way at no further call', async () => {
    const { client, find, readPage } = createWorld();
    await readPage(1);
    client.fly('page 1', Promise.resolve(client.page(1)));
    expect((await find([3])).get(3)).toEqual({ id: 3 });
    expect(client.log).toEqual([]);
  });

  test('finds another way when a page on its way fails', async () => {
    const { client, find, readPage } = createWorld();
    await readPage(1);
    const failing = Promise.reject(new Error('lost'));
    failing.catch(() => {});
    client.fly('page 1', failing);
    expect((await find([3])).get(3)).toEqual({ id: 3 });
    expect(client.log).toEqual(['/thing/3']);
  });

  test('takes kept single reads at no call, absent ones too', async () => {
    const { client, find } = createWorld();
    await find([3]);
    await find([99]);
    expect(await find([3])).toEqual(new Map([[3, { id: 3 }]]));
    expect(await find([99])).toEqual(new Map([[99, null]]));
    expect(client.log).toEqual([]);
  });

  test.each([
    ['1 row of a list of unknown length', [], [3], ['/thing/3']],
    ['2 rows of a list of unknown length that are on page 1', [], [3, 4], ['page 1']],
    ['2 rows of which one is further on', [], [3, 30], ['page 1', '/thing/30']],
    ['1 row with 3 pages to read', [1], [30], ['/thing/30']],
    ['3 rows with 3 pages to read', [1], [12, 22, 32], ['/thing/12', '/thing/22', '/thing/32']],
    ['4 rows with 3 pages to read', [1], [12, 13, 14, 15], ['page 2']],
    ['2 rows with 1 page to read', [1, 2, 3], [31, 32], ['page 4']],
    ['1 row with 1 page to read', [1, 2, 3], [31], ['/thing/31']],
    ['1 row that no page holds', [1, 2, 3, 4], [99], ['/thing/99']],
    ['a row of a kept page and one of none', [1], [3, 30], ['/thing/30']],
  ] as const)('reads %s as cheaply as is known', async (_, kept, wanted, calls) => {
    const { client, find, readPage } = createWorld();
    for (const number of kept) await readPage(number);
    const found = await find(wanted);
    expect(client.log).toEqual(calls);
    for (const id of wanted) expect(found.get(id)).toEqual(id <= 35 ? { id } : null);
  });

  test('scans the pages of a list without single reads, as far as it must', async () => {
    const { client, find } = createWorld();
    expect((await find([15], list)).get(15)).toEqual({ id: 15 });
    expect(client.log).toEqual(['page 1', 'page 2']);
    expect((await find([35], list)).get(35)).toEqual({ id: 35 });
    expect(client.log).toEqual(['page 3', 'page 4']);
    expect(await find([99], list)).toEqual(new Map([[99, null]]));
    expect(client.log).toEqual([]);
  });

  test('ends a scan also where no page reports how many there are', async () => {
    const { client, find } = createWorld();
    client.tellsLength = false;
    expect(await find([99], list)).toEqual(new Map([[99, null]]));
    expect(client.log).toEqual(['page 1', 'page 2', 'page 3', 'page 4']);
  });

  test('reads a page only once that is not kept afterwards', async () => {
    const { client, find } = createWorld();
    const read = client.read.bind(client);
    client.read = async (each) => {
      const value = await read(each);
      client.drop(keyOf(each));
      return value;
    };
    await find([99], list);
    expect(client.log).toEqual(['page 1', 'page 2', 'page 3', 'page 4']);
  });

  test('does not count on an answer that serves only in need', async () => {
    const { client, find, readPage } = createWorld();
    await readPage(1);
    client.age('page 1');
    await find([3]);
    expect(client.log).toEqual(['/thing/3']);
  });

  test('gives each id its own error, and the others their rows', async () => {
    const { client, find, readPage } = createWorld();
    await readPage(1);
    client.broken.add('/thing/30');
    const found = await find([3, 20, 30]);
    expect([found.get(3), found.get(20)]).toEqual([{ id: 3 }, { id: 20 }]);
    expect(found.get(30)).toEqual(new Error('/thing/30 is broken'));
  });

  test('gives the error of a page to all that it might have held, and keeps what was found', async () => {
    const { client, find, readPage } = createWorld();
    await readPage(1, list);
    client.broken.add('page 2');
    const found = await find([3, 20, 30], list);
    expect(found.get(3)).toEqual({ id: 3 });
    for (const id of [20, 30]) expect(found.get(id)).toEqual(new Error('page 2 is broken'));
    expect(client.log).toEqual(['page 2']);
  });

  test('reads a list that comes whole in one call', async () => {
    const { client, find } = createWorld([1, 2, 3]);
    const whole: List<Row> = { ...list, paged: false };
    expect(await find([2, 99], whole)).toEqual(
      new Map<number, Row | null>([
        [2, { id: 2 }],
        [99, null],
      ]),
    );
    expect(client.log).toEqual(['/things']);
  });
});
