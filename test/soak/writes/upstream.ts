import { machineClock } from '../../../src/sandbox/clock.ts';
import type { Fault } from '../../../src/sandbox/http/faults.ts';
import type { LoggedRequest } from '../../../src/sandbox/http/log.ts';
import { RateLimiter } from '../../../src/sandbox/http/rate-limit.ts';
import { type ApiDefinition, ApiServer } from '../../../src/sandbox/http/server.ts';
import { linksApi } from '../../../src/sandbox/links/api.ts';
import { LinksStore } from '../../../src/sandbox/links/store.ts';
import { seedLinks } from '../../../src/sandbox/seed/links.ts';
import { LINK_KEYS } from '../../../src/sandbox/seed/people.ts';
import { type Creation, creationIn, type Fate } from './creations.ts';
import { LATE_MS, LIMIT, WINDOW_MS } from './times.ts';

const MAX_PAGE = 100;
/** A row of a co-tenant that differs from that of a caller. */
const OTHER_TOKEN = 'other$1';

/** How the sandbox applies each fate. */
const faults: Readonly<Record<Fate, Fault>> = {
  'dropped before it is applied': { kind: 'drop' },
  'applied and dropped': { kind: 'drop', applied: true },
  'applied and hanging': { kind: 'hang', applied: true },
  'applied late': { kind: 'drop' },
  'applied with an HTML 500': { kind: 'html', status: 500, applied: true },
  truncated: { kind: 'truncated' },
  'refused with 429': { kind: 'refuse-429', retryAfter: 1 },
};

type Parsed = Parameters<ApiDefinition['parse']>[0];

/**
 * The link API of the sandbox, whose first request of each creation meets its fate. A co-tenant creates a row for each of
 * them, just before it.
 */
export class WritesUpstream implements AsyncDisposable {
  readonly key = LINK_KEYS.admin;
  /** Called with the index of a creation that kills its gateway, when its first request has arrived and is not applied. */
  onKill: (creation: number) => void = () => undefined;
  readonly #creations: readonly Creation[];
  /** Of creations whose first request has arrived. */
  readonly #met = new Set<number>();
  /** The rows of co-tenants that are equal to those of creations, by the index of the creation. */
  readonly #twins = new Map<number, number>();
  readonly #server: ApiServer;
  #store: LinksStore | null = null;
  #coTenantRows = 0;

  private constructor(creations: readonly Creation[]) {
    this.#creations = creations;
    const limit = { requests: LIMIT, windowMs: WINDOW_MS } as const;
    const options = { ...limit, mode: 'sliding', resetFormat: 'epoch-ms' } as const;
    const limiter = new RateLimiter(options, machineClock);
    const place = { host: '127.0.0.1', port: 0, prefix: '', isLocal: () => false };
    this.#server = new ApiServer(place, limiter, machineClock);
  }

  static async start(creations: readonly Creation[]): Promise<WritesUpstream> {
    const upstream = new WritesUpstream(creations);
    await upstream.#server.start((url) => upstream.#define(url));
    for (const { fate, noun, token } of creations) {
      const where = noun.upload
        ? { path: `/api/files/upload/${token}.txt` }
        : { containing: token };
      upstream.#server.faults.add({ ...faults[fate], ...where, method: 'POST', times: 1 });
    }
    return upstream;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Every request of the gateway, in order of arrival. */
  get requests(): readonly LoggedRequest[] {
    return this.#server.log;
  }

  /** Rows that a co-tenant has created, and how many of them are equal to those of a creation. */
  get coTenant(): { readonly rows: number; readonly twins: number } {
    return { rows: this.#coTenantRows, twins: this.#twins.size };
  }

  /** The ids of the rows of a creation, without that of its twin. */
  rowsOf({ noun, token }: Creation): number[] {
    if (!this.#store) return [];
    const rows = noun.rows(this.#store).filter((row) => JSON.stringify(row).includes(token));
    const twin = this.twinOf(token);
    return rows.map(({ id }) => id).filter((id) => id !== twin);
  }

  /** The id of the co-tenant's row that is equal to that of a creation. */
  twinOf(token: string): number | undefined {
    return this.#twins.get(creationIn(token) ?? -1);
  }

  /** The description of a channel. */
  description(channel: number): string | undefined {
    return this.#store?.channels.all().find(({ id }) => id === channel)?.description;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }

  #define(url: string): ApiDefinition {
    const store = new LinksStore(url, machineClock, MAX_PAGE);
    seedLinks(store);
    this.#store = store;
    const api = linksApi(store);
    return {
      ...api,
      parse: (request) => {
        if (request.method === 'POST') this.#arrived(api, request);
        return api.parse(request);
      },
    };
  }

  #arrived(api: ApiDefinition, request: Parsed): void {
    const number = creationIn(`${request.path} ${request.bytes.toString()}`);
    const creation = number === null ? undefined : this.#creations[number];
    if (number === null || !creation || this.#met.has(number)) return;
    this.#met.add(number);
    const id = this.#apply(api, creation.hasTwin ? request : renamed(request));
    this.#coTenantRows += 1;
    if (creation.hasTwin) this.#twins.set(number, id);
    if (creation.fate === 'applied late') setTimeout(() => this.#apply(api, request), LATE_MS);
    if (creation.kills) this.onKill(number);
  }

  /** Applies a request apart from its connection. Returns the id of its row. */
  #apply(api: ApiDefinition, request: Parsed): number {
    const { body } = api.run({ ...request, body: api.parse(request).body }, this.key);
    const { data, id } = body as { readonly id?: number; readonly data?: { readonly id: number } };
    return id ?? data?.id ?? Number.NaN;
  }
}

/** The same request with another name. */
function renamed({ bytes, path, query, ...rest }: Parsed): Parsed {
  const rename = (text: string): string => text.replaceAll(/\bw(\d{6})\b/g, OTHER_TOKEN);
  return {
    ...rest,
    path: rename(path),
    query: JSON.parse(rename(JSON.stringify(query))) as Record<string, string>,
    bytes: Buffer.from(rename(bytes.toString())),
  };
}
