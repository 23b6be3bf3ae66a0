import type {
  DecodeContext,
  List,
  Page,
  PageContents,
  PageTraits,
  Read,
  Row,
} from '../../request.ts';
import { pageEndOf, totalOf } from './list-page.ts';
import type { PageConsistency, ReceivedPage } from './page-consistency.ts';

/** Additional properties of the read of a page. */
export type PageReadOptions = Partial<
  Pick<PageTraits<unknown>, 'uncertain' | 'further' | 'reload'>
> &
  Pick<Read<unknown>, 'strict'> & {
    /** Whether an upstream that does not have the page has shown the end of the list. */
    readonly mayBeAbsent?: boolean;
  };

/**
 * The read of one page of a list; its value is `null` if its parent is absent. It is a class, because there is one
 * for every page that is looked up, and the remembered part of a read must not reference its operation.
 */
export class PageRead<R extends Row> implements Read<Page<R> | null>, PageTraits<Page<R> | null> {
  readonly page = this;
  keyed: PageTraits<Page<R> | null>['keyed'] = null;
  readonly method = 'GET';
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly resource: Read<unknown>['resource'];
  readonly tags: readonly string[];
  readonly inFlightTags: readonly string[];
  readonly about: number | undefined;
  readonly absentIsNull: boolean;
  readonly further: PageTraits<unknown>['further'];
  readonly uncertain: boolean;
  readonly reload: boolean;
  readonly strict: boolean;
  readonly #list: List<R>;
  readonly #number: number;
  readonly #size: number;
  readonly elsewhereTags: readonly string[];
  readonly #consistency: PageConsistency;

  /** `consistency` is notified of every response. */
  constructor(
    list: List<R>,
    page: { readonly number: number; readonly size: number },
    consistency: PageConsistency,
    {
      uncertain = false,
      further,
      mayBeAbsent = false,
      reload = false,
      strict = false,
    }: PageReadOptions = {},
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
    this.absentIsNull = mayBeAbsent || (list.absentIsNull ?? false);
    this.further = further;
    this.uncertain = uncertain;
    this.reload = reload;
    this.strict = strict;
    this.#list = list;
    this.#number = page.number;
    this.#size = page.size;
    this.#consistency = consistency;
  }

  decode(body: unknown, context: DecodeContext): Page<R> {
    const page = this.#list.decode(body, context);
    const total = this.#list.paged ? totalOf(page, this.#number, this.#size) : page.total;
    const result = total === page.total ? undefined : page.total;
    const found = { ...page, total, ...(result !== undefined && { result }) };
    const received = this.#received(found, this.reload ? 'again' : 'new');
    const distinct = new Set(received.identities).size === page.rows.length;
    return { ...found, distinct, arrival: this.#consistency.arrived(found, received) };
  }

  stamped(page: Page<R> | null, askedAt: number): void {
    if (page) this.#consistency.stamped(page, askedAt);
  }

  adopt(page: Page<R> | null, askedAt: number): Page<R> | null {
    if (!page) return null;
    const received = this.#received(page, 'adopted');
    return { ...page, arrival: this.#consistency.adopted(page, received, askedAt) };
  }

  #received({ rows }: Page<R>, as: ReceivedPage['as']): ReceivedPage {
    return { number: this.#number, identities: identitiesOf(this.#list, rows), as };
  }

  contents(page: Page<R> | null): PageContents | null {
    if (!page) return null;
    const { about, count, paged, path, query, resource } = this.#list;
    const { rows, total } = page;
    const number = this.#number;
    return {
      resource,
      path,
      number,
      rows,
      count,
      total: paged ? total : rows.length,
      isLast: !paged || pageEndOf(page, number, this.#size).last,
      isWhole: query === undefined && about === undefined,
    };
  }

  lateTags(page: Page<R> | null): readonly string[] {
    return this.#list.rowTags?.(page?.rows ?? []) ?? [];
  }
}

/** The tag touched by a write that removes rows from the lists of many parents. */
export const ROWS_LEFT = 'rows left';

/** The identities of rows within their list. */
export function identitiesOf<R extends Row>(list: List<R>, rows: readonly R[]): readonly string[] {
  return list.identities?.(rows) ?? rows.map(({ id }) => String(id));
}
