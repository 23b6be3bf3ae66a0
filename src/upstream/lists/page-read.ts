import type { DecodeContext, List, Page, PageTraits, Read, Row } from '../request.ts';
import type { Agreement } from './agreement.ts';

/** What else a read of a page says. */
export type PageReadOptions = Partial<Pick<PageTraits<unknown>, 'uncertain' | 'further' | 'anew'>>;

/**
 * The read of one page of a list; `null` is the answer when its parent is absent. By a class, for there is one
 * for every page that is looked for, and what is remembered of a read must not hold on to its operation.
 */
export class PageRead<R extends Row> implements Read<Page<R> | null>, PageTraits<Page<R> | null> {
  readonly page = this;
  readonly keyed = { scope: '', key: '' };
  readonly method = 'GET';
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly resource: Read<unknown>['resource'];
  readonly tags: readonly string[];
  readonly inFlightTags: readonly string[];
  readonly about: number | undefined;
  readonly absentIsNull: boolean;
  readonly further: number | undefined;
  readonly uncertain: boolean;
  readonly anew: boolean;
  readonly #list: List<R>;
  readonly elsewhereTags: readonly string[];
  readonly #agreement: Agreement;

  /** `agreement` is told of every answer. */
  constructor(
    list: List<R>,
    page: { readonly number: number; readonly size: number },
    agreement: Agreement,
    { uncertain = false, further, anew = false }: PageReadOptions = {},
  ) {
    this.path = list.path;
    this.query = list.paged
      ? { ...list.query, limit: String(page.size), page: String(page.number) }
      : (list.query ?? {});
    this.resource = list.resource;
    this.tags = list.tags;
    this.inFlightTags = list.inFlightTags ?? [];
    this.elsewhereTags = list.rowTags ? [ROWS_LEFT] : [];
    this.about = list.about;
    this.absentIsNull = list.absentIsNull ?? false;
    this.further = further;
    this.uncertain = uncertain;
    this.anew = anew;
    this.#list = list;
    this.#agreement = agreement;
  }

  decode(body: unknown, context: DecodeContext): Page<R> {
    const page = this.#list.decode(body, context);
    const identities = page.rows.map((row) => identityOf(this.#list, row));
    const distinct = new Set(identities).size === identities.length;
    return { ...this.#agreement.arrived(page, this.anew), distinct };
  }

  stamped(page: Page<R> | null, askedAt: number): void {
    if (page) this.#agreement.stamped(page, askedAt);
  }

  adopt(page: Page<R> | null, askedAt: number): Page<R> | null {
    return page && this.#agreement.adopted(page, askedAt);
  }

  lateTags(page: Page<R> | null): readonly string[] {
    return page?.rows.flatMap((row) => this.#list.rowTags?.(row) ?? []) ?? [];
  }
}

/** The tag that a write touches which takes rows out of lists that hang off many parents. */
export const ROWS_LEFT = 'rows left';

/** What tells a row from all others of its list. */
export function identityOf<R extends Row>(list: List<R>, row: R): string {
  return list.identity?.(row) ?? String(row.id);
}
