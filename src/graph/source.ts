import DataLoader from 'dataloader';
import type { Credential } from '../auth/credential.ts';
import { UpstreamFailure, type UpstreamName, upstreamTitle } from '../errors.ts';
import type { BudgetState } from '../upstream/budget/budget.ts';
import type { Access, Client } from '../upstream/client.ts';
import type { Collections } from '../upstream/lists/pages.ts';
import { readWindow, type WindowArguments } from '../upstream/lists/window.ts';
import type { Call, List, Read, Row, Write } from '../upstream/request.ts';
import type { Caller } from '../upstream/shared-requests.ts';

/** One upstream as the whole process shares it. */
export interface Backend {
  readonly client: Client;
  readonly collections: Collections;
}

/** A Relay connection, as the connection types of the graph resolve it. */
export interface Connection<R> {
  readonly edges: { readonly cursor: string; readonly node: R }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly totalCount: number | null;
}

/** One upstream as one operation sees it: on whose behalf is settled, and reads by id are batched. */
export class Source {
  readonly #upstream: UpstreamName;
  readonly #backend: Backend | null;
  readonly #access: Access;
  readonly #admission: (() => Promise<unknown>) | undefined;
  readonly #loaders = new Map<string, DataLoader<number, Row | null>>();

  constructor(options: {
    readonly upstream: UpstreamName;
    /** `null` when this API is not configured: everything then answers `UPSTREAM_NOT_CONFIGURED`. */
    readonly backend: Backend | null;
    readonly caller: Caller;
    readonly credential: Credential;
    /** Asked before every read and write; it rejects when the caller may not have any. */
    readonly admission?: () => Promise<unknown>;
  }) {
    this.#upstream = options.upstream;
    this.#backend = options.backend;
    this.#access = { caller: options.caller, credential: options.credential };
    this.#admission = options.admission;
  }

  /** Answers a read: 0 or 1 upstream calls. */
  async read<T>(read: Read<T>): Promise<T> {
    if (this.#admission) await this.#admission();
    return this.#required.client.read(read, this.#access);
  }

  /** Sends a write: 1 upstream call, never repeated. See `Client.write` for what it throws. */
  async write<T>(write: Write<T>): Promise<T> {
    if (this.#admission) await this.#admission();
    return this.#required.client.write(write, this.#access);
  }

  /** Reads a secret: 1 upstream call, and nothing of it is kept. */
  async readSecret<T>(call: Call<T>): Promise<T> {
    if (this.#admission) await this.#admission();
    return this.#required.client.readSecret(call, this.#access);
  }

  /** A window of a list as a connection; `null` when the list's parent is absent. See `readWindow`. */
  async connection<R extends Row>(
    list: List<R>,
    window: WindowArguments,
    keep?: (row: R) => boolean,
  ): Promise<Connection<R> | null> {
    if (this.#admission) await this.#admission();
    const { collections } = this.#required;
    const cut = await readWindow({ collections, list, access: this.#access }, window, keep);
    return (
      cut && {
        edges: cut.rows.map(({ row, cursor }) => ({ cursor, node: row })),
        pageInfo: {
          hasNextPage: cut.hasNextPage,
          hasPreviousPage: cut.hasPreviousPage,
          startCursor: cut.rows[0]?.cursor ?? null,
          endCursor: cut.rows.at(-1)?.cursor ?? null,
        },
        totalCount: cut.total,
      }
    );
  }

  /** All rows of a list that comes whole. 0 or 1 upstream calls. */
  async all<R extends Row>(list: List<R>): Promise<R[]> {
    if (this.#admission) await this.#admission();
    const leaf = await this.#required.collections.leaf(list, 1, this.#access);
    return [...(leaf?.rows ?? [])];
  }

  /** One row by its id, `null` when there is none. Ids asked for at the same time are read together. */
  async find<R extends Row>(list: List<R>, id: number): Promise<R | null> {
    if (this.#admission) await this.#admission();
    const { collections } = this.#required;
    let loader = this.#loaders.get(list.path);
    if (!loader) {
      loader = new DataLoader<number, Row | null>(
        async (ids) => {
          const rows = await collections.find(list, ids, this.#access);
          return ids.map((id) => rows.get(id) ?? null);
        },
        // What has been read is kept one floor below, where a write of this operation can reach it.
        { cache: false },
      );
      this.#loaders.set(list.path, loader);
    }
    return (await loader.load(id)) as R | null;
  }

  /** How this caller's budget stands; `null` when this API is not configured. Costs nothing. */
  get budgetState(): BudgetState | null {
    return this.#backend?.client.budgetState(this.#access.credential) ?? null;
  }

  get #required(): Backend {
    if (this.#backend) return this.#backend;
    throw new UpstreamFailure(
      this.#upstream,
      'UPSTREAM_NOT_CONFIGURED',
      `${upstreamTitle[this.#upstream]} is not configured on this gateway.`,
    );
  }
}
