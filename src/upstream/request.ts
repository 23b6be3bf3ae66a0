import type { UpstreamName } from '../errors.ts';
import type { Resource } from '../resources.ts';

/** What a decoder may need besides the JSON itself. */
export interface DecodeContext {
  /** IANA name of the zone in which the upstream writes timestamps that carry none. */
  readonly timeZone: string;
  /** Reports a member that was not what the documents say, as `resource.member`; decoding goes on. */
  readonly surprise: (field: string) => void;
}

/** The members of a request's body. */
type Body = Readonly<Record<string, unknown>>;

/** A body of bytes, sent as they come. */
export interface ByteStream {
  /** Bytes in all; `null` when that shows only at the end. */
  readonly length: number | null;
  /**
   * The bytes from the first one on. Called when the request has its slot, once for each try.
   * Nothing is read before the upstream is connected, and never faster than it takes the bytes.
   */
  open(): AsyncIterable<Uint8Array>;
  /**
   * Called when a try was refused for the rate limit, so that nothing happened upstream. The next one
   * needs all bytes again: who does not have them gives up here.
   */
  refused?(retryAfterMs: number): void;
}

/** One request to an upstream API, as data. Nouns describe requests; only the client sends them. */
export interface Call<T> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From `/api` on, with its parameters percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /**
   * A JSON object to send: as a function where it holds timestamps in the upstream's zone.
   */
  readonly body?: Body | ((context: Pick<DecodeContext, 'timeZone'>) => Body);
  /** Bytes to send in its place. */
  readonly stream?: ByteStream;
  /**
   * Turns the body of a successful answer into what the gateway works with.
   * @throws DecodeError when the answer is unusable as a whole; a broken member is null instead.
   */
  readonly decode: (body: unknown, context: DecodeContext) => T;
}

/** A request that changes nothing upstream, so that its answer may be shared and cached. */
export interface Read<T> extends Call<T> {
  /** Known without the zone, for it is part of the cache key. */
  readonly body?: Body;
  /** Whose ttl applies, e.g. `channels`; also the noun in metrics. */
  readonly resource: Resource;
  /** What a write touches to make a cached answer invalid, e.g. `channels`, `channel:42:items`. */
  readonly tags: readonly string[];
  /** The id of the row that it is about, if that can come out of another answer. */
  readonly about?: number | undefined;
  /**
   * True for a single read: "there is no such thing" is then an answer, `null`, and no error.
   * @default false
   */
  readonly absentIsNull?: boolean;
  /** Present for one page of a list. */
  readonly page?: PageTraits<T>;
}

/** What else there is to the read of a page. */
export interface PageTraits<T> {
  /** Further tags that only the answer shows: of the rows that are in it. */
  lateTags(value: T): readonly string[];
  /** Stand in for the late tags while the answer is in flight and they are not known. */
  readonly inFlightTags: readonly string[];
  /** Further tags of the answer while it is kept for other replicas, who do not see what else is cached here. */
  readonly elsewhereTags: readonly string[];
  /**
   * Makes an answer that another replica has read one of this process'. `askedAt` is on the clock of the cache, as
   * for `stamped`.
   */
  adopt(value: T, askedAt: number): T;
  /** Called when an answer of this process was asked for, where others may be adopted beside it. */
  stamped(value: T, askedAt: number): void;
  /** Rows that come with it, where it is a further page of a window whose pages are all known. */
  readonly further: number | undefined;
  /** Whether the answer decides which further reads there are. */
  readonly uncertain: boolean;
  /** Whether a cached answer is known to be outdated, and serves only if no other comes. */
  readonly reload: boolean;
  /** Where its cache key is noted once it is made: the read is used again and again. */
  readonly keyed: { scope: string; key: string };
}

/** A request that changes something upstream: sent once, never shared, never cached. */
export interface Write<T> extends Call<T> {
  /**
   * The tags of the cache entries that are invalid once it has happened. `result` is null when it is not
   * known whether it happened, so that the tags must cover every way it can have.
   */
  readonly touches: (result: T | null) => readonly string[];
  /** All that it can make wrong, however it comes out; what `touches(null)` says by default. */
  readonly mayTouch?: readonly string[];
  /** The tag of a row that it takes out of lists, see `List.rowTags`. */
  readonly leaves?: string;
  /** Where a person can see whether it happened, e.g. `Query.campaigns`; `null` if it does not matter. */
  readonly check: string | null;
}

/** A row of any list: the upstream's integer id, and whatever else its noun decodes. */
export interface Row {
  readonly id: number;
}

/** A row of which some members are known. The others are `undefined`: nothing has said them yet. */
export type Known<R extends Row> = { readonly id: number } & {
  readonly [Member in keyof R]?: R[Member] | undefined;
};

/** A list that an upstream hands out in numbered pages, or whole. */
export interface List<R extends Row> {
  readonly resource: Resource;
  readonly tags: readonly string[];
  /** The one of its tags that no other list has, for a list that hangs off many parents. */
  readonly ownTag?: string;
  /** Tags for every row of a page, beside the list's own, for a list that hangs off many parents. */
  rowTags?(row: R): readonly string[];
  /** Stand in for the tags of the rows while a page is in flight and they are not known. */
  readonly inFlightTags?: readonly string[];
  readonly path: string;
  /** Filters that make it a list of its own, e.g. a search; without the paging parameters. */
  readonly query?: Readonly<Record<string, string>>;
  /** False when the upstream hands out the whole list in one answer, without paging parameters. */
  readonly paged: boolean;
  readonly decode: (body: unknown, context: DecodeContext) => Page<R>;
  /** The id of the row whose list it is, if that can come out of another answer. */
  readonly about?: number;
  /** The read of one row by its id, where the API has one that says as much as the list's row. */
  readonly single?: (id: number) => Read<R | null>;
  /**
   * What distinguishes a row from all others of the list.
   * @default the id
   */
  identity?(row: R): string;
  /** True when the list hangs off a parent that can be absent: its page is then `null`. */
  readonly absentIsNull?: boolean;
}

/** One page of a list, after its envelope is taken off. */
export interface Page<R extends Row> {
  readonly rows: readonly R[];
  /** Rows over all pages, `null` when the upstream does not say. */
  readonly total: number | null;
  /** The page size the upstream used, which can be less than was asked; `null` when it does not say. */
  readonly perPage: number | null;
  /** 1-based; `null` when the upstream does not say. */
  readonly currentPage: number | null;
  /** What the upstream believes comes next; it can be wrong, see `isLastPage` in page.ts. */
  readonly nextPage: number | null;
  /** 0 and absent are both `null`: nothing can be concluded from either. */
  readonly maxPage: number | null;
  /** How many rows the upstream sent, with those that were skipped for want of an id. */
  readonly sent: number;
  /** Which answer of its list it was, counted by this process. */
  readonly arrival?: number;
  /** Whether no row is on it twice. */
  readonly distinct?: boolean;
  /** Present in a dry run where the rows are not known: makes one up that stands for this many of them. */
  readonly placeholder?: (rows: number) => R;
}

/** What the client knows of an answer before it is decoded. */
export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** What an answer means, whatever its status, body and headers looked like. */
export type Verdict =
  | { readonly kind: 'success'; readonly body: unknown }
  /** There is no such thing. `reason` is the upstream's sentence, for a write that met this. */
  | { readonly kind: 'absent'; readonly reason: string }
  /** The rate limit was hit; nothing happened upstream. `retryAfterMs` is null when it is not known. */
  | { readonly kind: 'limited'; readonly retryAfterMs: number | null }
  | { readonly kind: 'unauthenticated' }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'rejected'; readonly reason: string }
  /** No usable answer: HTML, broken JSON, an empty body, a server error. `detail` is for the log. */
  | { readonly kind: 'unavailable'; readonly detail: string }
  | { readonly kind: 'invalid'; readonly detail: string };

/** How one upstream API is spoken to: what differs between the two, and nothing else. */
export interface Api {
  readonly upstream: UpstreamName;
  /**
   * How a `body` is written on the wire.
   * @default 'json'
   */
  readonly bodyEncoding?: 'json' | 'form';
  /**
   * Adds the credential to a request about to be sent. It may also move the body into the query, for
   * an upstream that takes all parameters there: `body` is then `undefined` afterwards.
   */
  readonly authorize: (
    request: {
      headers: Record<string, string>;
      query: URLSearchParams;
      body: Record<string, unknown> | undefined;
    },
    credential: string,
  ) => void;
  /** Judges an answer. Never throws. */
  readonly judge: (answer: RawAnswer, context: { readonly wallMs: number }) => Verdict;
}

/** When and as of which write an answer was asked for: settled when its request leaves. */
export interface Stamp {
  /** On the clock of the cache, which all who share its entries share. */
  readonly storedAt: number;
  /** The latest write that the answer is known to show. */
  readonly generation: number;
  /** The same for other replicas. */
  readonly shared?: SharedStamp;
}

/** When and as of which write an answer was asked for, as all replicas understand it. */
interface SharedStamp {
  /** On the clock that they share. */
  readonly at: number;
  /** Names what they remember together, within which writes are counted. */
  readonly epoch: string;
  readonly asOf: number;
}
