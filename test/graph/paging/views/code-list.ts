import * as fc from 'fast-check';
import { startWorld, type World } from '../../../support/gateway.ts';
import { ScriptedUpstream } from '../../../support/scripted-upstream.ts';

/** A QR code, as the API lists it. */
export interface Code {
  readonly id: number;
  readonly name: string | null;
  readonly scans: number | null;
  /** As `YYYY-MM-DD HH:MM:SS`. */
  readonly date: string | null;
}

/** The QR codes of the link API over real sockets, in the hands of a test. */
export class CodeList implements AsyncDisposable {
  rows: Code[] = [];
  /** Whether pages say how many there are, of rows and of pages. */
  tells = true;
  /** Most rows of a page, whatever is requested. */
  clamp = 1000;
  /** The numbers of the pages that were requested. */
  readonly log: number[] = [];
  readonly #upstream: ScriptedUpstream;

  private constructor(upstream: ScriptedUpstream) {
    this.#upstream = upstream;
    upstream.onRequest = (arrival) => {
      const { url, response } = arrival;
      // Each is held with its connection, and there are very many.
      upstream.log.length = 0;
      const [, , , id] = url.pathname.split('/');
      if (response.req.method === 'DELETE') {
        this.rows = this.rows.filter((row) => row.id !== Number(id));
        arrival.answer({ error: 0, message: 'Deleted' });
      } else arrival.answer(this.#page(url));
    };
  }

  static async start(): Promise<CodeList> {
    return new CodeList(await ScriptedUpstream.start());
  }

  /** A gateway over it. */
  world(env: Readonly<Record<string, string>>): Promise<World> {
    return startWorld({ only: 'links', env: { LINKS_BASE_URL: this.#upstream.baseUrl, ...env } });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#upstream[Symbol.asyncDispose]();
  }

  #page({ searchParams }: URL): unknown {
    const currentpage = Number(searchParams.get('page'));
    this.log.push(currentpage);
    const perpage = Math.min(this.clamp, Number(searchParams.get('limit')));
    const maxpage = Math.max(1, Math.ceil(this.rows.length / perpage));
    const from = (currentpage - 1) * perpage;
    const qrs = this.rows.slice(from, from + perpage);
    const nextpage = currentpage < maxpage ? currentpage + 1 : null;
    const told = this.tells ? { result: this.rows.length, maxpage } : {};
    return { error: 0, data: { ...told, perpage, currentpage, nextpage, qrs } };
  }
}

/** Nothing is cached: whatever somebody else changes is seen at once. */
export const UNCACHED = {
  'ttl.qrCodes': '0',
  staleWhileRevalidateMs: '0',
  STALE_IF_ERROR_MS: '0',
};

const words = [
  'Äpfel',
  'apfel',
  'Birne',
  'birne 2',
  'CHERRY',
  'Ｆｕｌｌ',
  'Éclair',
  'eclair',
  '🍋',
  '',
];
const name = fc.oneof(
  fc.constantFrom(...words, null),
  fc.tuple(fc.constantFrom(...words), fc.constantFrom(...words)).map((both) => both.join(' ')),
  // Equal in more characters than a cursor contains.
  fc.nat(3).map((n) => `${'long '.repeat(20)}${n}`),
);
const day = fc.integer({ min: 1, max: 9 }).map((n) => `2026-01-0${n} 12:00:00`);

/** A row without its id. */
export const values: fc.Arbitrary<Omit<Code, 'id'>> = fc.record({
  name,
  scans: fc.oneof(fc.nat(5), fc.nat(100_000), fc.constant(null)),
  date: fc.oneof(day, fc.constant(null)),
});

/** What a list is searched for, filtered by and sorted by. */
export interface ViewArguments {
  readonly search?: string;
  readonly createdAt?: { readonly from?: string | null; readonly to?: string | null };
  readonly orderBy?: {
    readonly field: 'NAME' | 'SCANS' | 'CREATED_AT' | 'ID';
    readonly direction?: 'ASC' | 'DESC';
  };
}

const moment = fc.integer({ min: 1, max: 5 }).map((n) => `2026-01-0${n}T12:00:00Z`);
const later = fc.integer({ min: 5, max: 9 }).map((n) => `2026-01-0${n}T12:00:00Z`);

/** Any of them. */
export const anyView: fc.Arbitrary<ViewArguments> = fc.record(
  {
    search: fc.constantFrom(
      'apfel',
      'ÄPFEL',
      'birne 2',
      'long',
      'full',
      'e',
      '  ',
      'nothing',
      '🍋 a',
    ),
    createdAt: fc.record(
      { from: moment, to: fc.oneof(later, fc.constant(null)) },
      { requiredKeys: [] },
    ),
    orderBy: fc.record(
      {
        field: fc.constantFrom('NAME', 'SCANS', 'CREATED_AT', 'ID'),
        direction: fc.constantFrom('ASC', 'DESC'),
      },
      { requiredKeys: ['field'] },
    ),
  },
  { requiredKeys: [] },
);

/** A list as it must be shown: filtered and sorted as a whole, without anything of the gateway. */
export function plainly(rows: readonly Code[], view: ViewArguments): readonly Code[] {
  const lower = (text: string | null) => (text ?? '').normalize('NFKC').toLowerCase();
  const found = rows.filter(({ name: title, date }) => {
    const has = lower(view.search ?? '')
      .split(/\s+/)
      .every((word) => lower(title).includes(word));
    const { from, to } = view.createdAt ?? {};
    const at = date && `${date.replace(' ', 'T')}Z`;
    const isIn = (!from || (at && at >= from)) && (!to || (at && at <= to));
    return has && isIn;
  });
  const { field, direction } = view.orderBy ?? {};
  if (!field) return found;
  const sign = direction === 'DESC' ? -1 : 1;
  return found.toSorted((one, other) => {
    const [a, b] = [sortValue(one, field), sortValue(other, field)];
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    return a < b ? -sign : sign;
  });
}

/** What a row is sorted by. */
export function sortValue(
  { id, name: title, scans, date }: Code,
  field: NonNullable<ViewArguments['orderBy']>['field'],
): string | number | null {
  if (field === 'ID') return id;
  if (field === 'SCANS') return scans;
  if (field === 'CREATED_AT') return date;
  // Texts are trimmed as they are decoded or compared; accents go with the marks that NFD takes off.
  return (
    title &&
    title
      .trim()
      .normalize('NFKC')
      .toLowerCase()
      .normalize('NFD')
      .replace(/[\u0300-\u036F]/g, '')
  );
}

/** Selects the rows of a window. */
const WINDOW = `query ($search: String, $createdAt: DateTimeRange, $orderBy: QrCodeOrder,
  $offset: Int, $first: Int, $after: String, $last: Int, $before: String) {
  qrCodes(search: $search, createdAt: $createdAt, orderBy: $orderBy,
    offset: $offset, first: $first, after: $after, last: $last, before: $before) {
    totalCount nodes { databaseId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

/** A window as the gateway shows it. */
export async function windowOf(world: World, args: object) {
  interface Found {
    readonly totalCount: number | null;
    readonly nodes: readonly { readonly databaseId: number }[];
    readonly pageInfo: {
      readonly hasNextPage: boolean;
      readonly hasPreviousPage: boolean;
      readonly startCursor: string | null;
      readonly endCursor: string | null;
    };
  }
  const { qrCodes } = await world.data<{ qrCodes: Found }>(WINDOW, { ...args });
  const { nodes, pageInfo, totalCount } = qrCodes;
  return { ids: nodes.map(({ databaseId }) => databaseId), total: totalCount, ...pageInfo };
}
