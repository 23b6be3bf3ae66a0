import { startWorld, type World } from '../../support/gateway.ts';
import { ScriptedUpstream } from '../../support/scripted-upstream.ts';

/** A list of the link API: where it is there and here. */
export interface OddList {
  /** The field, around the arguments of a window and a selection. */
  readonly field: (window: string, selection: string) => string;
  readonly path: string;
  readonly key: string;
  readonly typename: string;
  readonly order: string;
}

const plain = (name: string, path: string, key: string, typename: string): OddList => ({
  field: (window, selection) => `list: ${name}(${window}) ${selection}`,
  path,
  key,
  typename,
  order: 'ID',
});

/** Every paged list. */
export const oddLists: Readonly<Record<string, OddList>> = {
  domains: plain('domains', '/api/domains', 'domains', 'BrandedDomain'),
  overlays: plain('overlays', '/api/overlay', 'cta', 'CtaOverlay'),
  campaigns: plain('campaigns', '/api/campaigns', 'campaigns', 'Campaign'),
  channels: plain('channels', '/api/channels', 'channels', 'Channel'),
  channelItems: {
    field: (window, selection) => `channel(id: 7) { list: items(${window}) ${selection} }`,
    path: '/api/channel/7',
    key: 'items',
    typename: '',
    order: 'TITLE',
  },
  splashPages: plain('splashPages', '/api/splash', 'splash', 'SplashPage'),
  files: plain('files', '/api/files', 'list', 'File'),
  pixels: plain('pixels', '/api/pixels', 'pixels', 'Pixel'),
  qrCodes: plain('qrCodes', '/api/qr', 'qrs', 'QrCode'),
};

/** A page as an upstream makes it. */
export interface MadePage {
  /** The requested number. */
  readonly asked: number;
  /** The number of the page that is sent. */
  readonly number: number;
  /** Its size, which can be smaller than requested. */
  readonly size: number;
  readonly limit: number;
  /** The number of its rows, of those of the list, and of its pages. */
  readonly sent: number;
  readonly rows: number;
  readonly pages: number;
}

/** The paging members of a page. */
export type Members = (page: MadePage) => Readonly<Record<string, unknown>>;

/** As documented. */
export const wellFormed: Members = ({ asked, pages, rows, size }) => ({
  result: rows,
  perpage: size,
  currentpage: asked,
  nextpage: asked < pages ? asked + 1 : null,
  maxpage: pages,
});

/** The lists of the link API over real sockets, all with the same number of rows and with paging members of a test. */
export class OddUpstream implements AsyncDisposable {
  rows = 0;
  /** Most rows of a page, whatever is requested. */
  clamp = 1000;
  members: Members = wellFormed;
  /** What is sent past the end. */
  past: 'empty' | 'last page again' | 'error' = 'empty';
  /** The numbers of the requested pages. */
  readonly log: number[] = [];
  /** Paths of other requests. */
  readonly others: string[] = [];
  readonly #upstream: ScriptedUpstream;

  private constructor(upstream: ScriptedUpstream) {
    this.#upstream = upstream;
    upstream.onRequest = (arrival) => {
      const { url } = arrival;
      upstream.log.length = 0;
      const list = Object.values(oddLists).find(({ path }) => path === url.pathname);
      if (list) arrival.answer(this.#page(list, url.searchParams));
      else {
        this.others.push(url.pathname);
        const id = Number(url.pathname.split('/').at(-1));
        const exists = id >= 1 && id <= this.rows;
        arrival.answer(exists ? { error: 0, details: { id } } : { error: 1, message: 'Not found' });
      }
    };
  }

  static async start(): Promise<OddUpstream> {
    return new OddUpstream(await ScriptedUpstream.start());
  }

  /** A gateway over it. */
  world(env: Readonly<Record<string, string>> = {}): Promise<World> {
    return startWorld({ only: 'links', env: { LINKS_BASE_URL: this.#upstream.baseUrl, ...env } });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#upstream[Symbol.asyncDispose]();
  }

  #page({ key }: OddList, query: URLSearchParams): unknown {
    const asked = Number(query.get('page'));
    this.log.push(asked);
    const limit = Number(query.get('limit'));
    const size = Math.min(this.clamp, limit);
    const pages = Math.max(1, Math.ceil(this.rows / size));
    if (asked > pages && this.past === 'error') return { error: 1, message: 'Page not found' };
    const number = this.past === 'last page again' ? Math.min(asked, pages) : asked;
    const from = Math.min(this.rows, (number - 1) * size);
    const sent = Math.min(this.rows - from, size);
    const rows = Array.from({ length: sent }, (_, n) => ({
      id: from + n + 1,
      type: 'links',
      title: `${from + n + 1}`,
    }));
    const made = { asked, number, size, limit, sent, rows: this.rows, pages };
    const members = this.members(made);
    return key === 'list'
      ? { error: 0, ...members, [key]: rows }
      : { error: 0, data: { ...members, [key]: rows } };
  }
}

/** A window as the gateway shows it. */
export async function pageOf(world: World, list: OddList, window: string) {
  interface Found {
    readonly totalCount: number | null;
    readonly nodes: readonly { readonly databaseId: number }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  }
  const id = list.typename ? 'databaseId' : '... on ChannelEntry { databaseId }';
  const selection = `{ totalCount nodes { ${id} } pageInfo { hasNextPage endCursor } }`;
  const data = await world.data<{ list?: Found; channel?: { list: Found } }>(
    `{ ${list.field(window, selection)} }`,
  );
  const found = data.list ?? data.channel?.list;
  if (!found) throw new Error('there is no list');
  const { nodes, pageInfo, totalCount } = found;
  return { ids: nodes.map(({ databaseId }) => databaseId), total: totalCount, ...pageInfo };
}
