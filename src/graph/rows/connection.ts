import type { Window, WindowRow } from '../../upstream/lists/walk.ts';

/**
 * A Relay connection with its page info, as the connection types of the graph resolve both. Cursors are made when
 * they are read, which few operations do.
 */
export class Connection<R> {
  readonly edges: readonly WindowRow<R>[];
  readonly totalCount: number | null;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;

  constructor({ rows, total, hasNextPage, hasPreviousPage }: Window<R>) {
    this.edges = rows;
    this.totalCount = total;
    this.hasNextPage = hasNextPage;
    this.hasPreviousPage = hasPreviousPage;
  }

  get pageInfo(): this {
    return this;
  }

  get startCursor(): string | null {
    return this.edges[0]?.cursor ?? null;
  }

  get endCursor(): string | null {
    return this.edges.at(-1)?.cursor ?? null;
  }
}
