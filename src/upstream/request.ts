import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { Resource } from '../resources.ts';

/** What a decoder may need in addition to the JSON. */
export interface DecodeContext {
  /** IANA name of the zone in which the upstream writes timestamps that carry none. */
  readonly timeZone: string;
  /** Reports a member that differs from the documentation, as `resource.member`; decoding continues. */
  readonly surprise: (field: string) => void;
}

/** The members of a request's body. */
type Body = Readonly<Record<string, unknown>>;

/** A body of bytes, sent as they arrive. */
export interface ByteStream {
  /** Total number of bytes; `null` if it is known only at the end. */
  readonly length: number | null;
  /**
   * The bytes from the start. Called when the request has its slot, once for each attempt. Nothing is read before the
   * upstream is connected, and never faster than it accepts the bytes.
   */
  open(): AsyncIterable<Uint8Array>;
  /**
   * Called when an attempt was refused for the rate limit, so that nothing happened upstream. The next attempt
   * needs all bytes again: a sender without them gives up here.
   */
  refused?(retryAfterMs: number): void;
}

/** One request to an upstream API, as data. Nouns describe requests; only the client sends them. */
export interface Call<T> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From `/api` on, with its parameters percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** A JSON object to send: a function if it contains timestamps in the upstream's zone. */
  readonly body?: Body | ((context: Pick<DecodeContext, 'timeZone'>) => Body);
  /** Bytes to send in place of `body`. */
  readonly stream?: ByteStream;
  /**
   * Decodes the body of a successful response.
   * @throws DecodeError if the response is unusable; a broken member is null instead.
   */
  readonly decode: (body: unknown, context: DecodeContext) => T;
}

/** The counts that are recorded over time: of rows, and `total` of lists, which is named by its resource. */
export type CountName = 'balance' | 'downloads' | 'scans' | `total:${Resource}`;

/** A count of a row that is recorded over time. */
export interface Count<R> {
  readonly name: CountName;
  /** `null` if the upstream does not provide it. */
  value(row: R): number | null;
  /**
   * Distinguishes the row from a later one with the same id, such as its creation time: the later one does not
   * inherit its history. `null` if the upstream does not provide it.
   */
  origin(row: R): string | null;
}

/** A request that changes nothing upstream, so that its response can be shared and cached. */
export interface Read<T> extends Call<T> {
  /** Known without the zone, for it is part of the cache key. */
  readonly body?: Body;
  /** The resource whose ttl applies, e.g. `channels`; also a metric label. */
  readonly resource: Resource;
  /** The tags by which a write invalidates a cached response, e.g. `channels`, `channel:42:items`. */
  readonly tags: readonly string[];
  /** The id of its row, if that can come from another response. */
  readonly about?: number | undefined;
  /**
   * True for a single read: an object that does not exist is then `null` instead of an error.
   * @default false
   */
  readonly absentIsNull?: boolean;
  /**
   * Whether only a fresh response is accepted, none that is past its ttl while or because no newer one arrives.
   * @default false
   */
  readonly strict?: boolean;
  /** Present for one page of a list. */
  readonly page?: PageTraits<T>;
  /** Present for a single read, of the row `about`, whose response contains a count that is recorded. */
  readonly count?: Count<NonNullable<T>>;
}

/** A read, the key of its response in the cache, and its credential. */
export interface KeyedRead<T = unknown> {
  readonly read: Read<T>;
  readonly key: string;
  readonly credential: Credential;
}

/** Additional properties of the read of a page. */
export interface PageTraits<T> {
  /** Additional tags that only the response shows: of the rows in it. */
  lateTags(value: T): readonly string[];
  /** Replace the late tags, which are unknown while the response is in flight. */
  readonly inFlightTags: readonly string[];
  /** Additional tags of a response of the process before, which knew other entries. */
  readonly elsewhereTags: readonly string[];
  /**
   * Converts a response that the process before has read. `askedAt` is on the clock of the cache, as for `stamped`.
   */
  adopt(value: T, askedAt: number): T;
  /** Called with the request time of a response of this process, if others may be adopted beside it. */
  stamped(value: T, askedAt: number): void;
  /**
   * Rows that come with it, if it is a further page of a window whose pages are all known; `whole` if all pages of
   * the list are needed, however few items are requested.
   */
  readonly further: number | 'whole' | undefined;
  /** Whether the response determines which further reads there are. */
  readonly uncertain: boolean;
  /** Whether a cached response is known to be outdated, and is used only if no other response arrives. */
  readonly reload: boolean;
  /** The read with the key of its last reader: it is used repeatedly. */
  keyed: KeyedRead<T> | null;
  /** What the response shows of the list. */
  contents(value: T): PageContents | null;
}

/** What a page shows of its list, for what is recorded of it over time. */
export interface PageContents {
  readonly resource: Resource;
  /** Of the list. */
  readonly path: string;
  /** Starts at 1. */
  readonly number: number;
  readonly rows: readonly Row[];
  readonly count: Count<Row> | undefined;
  /** Rows of the whole list; `null` if it is unknown. */
  readonly total: number | null;
  readonly isLast: boolean;
  /** False for a list with filters, and for one that hangs off a row. */
  readonly isWhole: boolean;
}

/** A request that changes something upstream: sent once, never shared, never cached. */
export interface Write<T> extends Call<T> {
  /**
   * The tags of the cache entries that the write invalidates. `result` is null if it is unknown whether the write
   * happened; the tags must then cover all possible outcomes.
   */
  readonly touches: (result: T | null) => readonly string[];
  /** All tags that it can invalidate, whatever its outcome; by default those of `touches(null)`. */
  readonly mayTouch?: readonly string[];
  /** The tag of a row that it removes from lists, see `List.rowTags`. */
  readonly leaves?: string;
  /** The row that it deletes, if a count of it is recorded. */
  readonly ends?: { readonly count: CountName; readonly id: number };
  /** Where a user can check the outcome, e.g. `Query.campaigns`; `null` if it does not matter. */
  readonly check: string | null;
  /** The row that it changes, e.g. `channel:42`; absent for a creation. Writers of one row can exclude each other. */
  readonly row?: string;
  /**
   * Runs before the request while all other writers of `row` are excluded; prevents the request by rejecting. Needs a
   * `row`.
   */
  readonly guard?: () => Promise<void>;
  /** What to do if its response was lost; `null` if it must not be repeated, and nothing shows whether it has happened. */
  readonly evidence: (Repeatable<T> | Creation<T>) | null;
}

/** A second request has the same effect as the first: with the same idempotency key, it is sent again. */
export interface Repeatable<T> {
  readonly kind: 'repeatable';
  /**
   * Present if a second request can be refused because the first one was applied: the result if the refusal shows that,
   * e.g. "not found" after a delete; `null` if it does not.
   */
  readonly refusedAgain?: (kind: 'absent' | 'rejected') => T | null;
}

/** The write adds a row to a list. */
export interface Creation<T> {
  readonly kind: 'creation';
  /** Where the row appears: filtered by a natural key if the API has such a filter. */
  readonly list: List<Row>;
  /** Names what it creates, e.g. `channel Summer`: equal creations wait for each other. Normalised as `matches` is. */
  readonly content: string;
  /** Whether a row has the content that this write gives it: decoded once, trimmed, cut as the API cuts. */
  readonly matches: (row: Row) => boolean;
  /**
   * Whether a row may be the result although it does not match, since an upstream may change values in a way that is
   * unknown. True for each row that matches. While a new row resembles, the effect is not absent: the outcome is
   * unknown, and the row is a candidate.
   */
  readonly resembles: (row: Row) => boolean;
  /** When a row was created, as ISO 8601; `null` if it is unknown. Absent if the API never provides it. */
  readonly createdAt?: (row: Row) => string | null;
  /**
   * Whether the API allows no second row with this content, so that a match needs no further evidence unless the row is
   * known to be older than the request.
   */
  readonly isUnique: boolean;
  readonly valueOf: (row: Row) => T;
}

/** A row of any list: the upstream's integer id, and the decoded members of its noun. */
export interface Row {
  readonly id: number;
}

/** A row with some known members. The others are `undefined`. */
export type Known<R extends Row> = { readonly id: number } & {
  readonly [Member in keyof R]?: R[Member] | undefined;
};

/** A list that an upstream returns in numbered pages, or whole. */
export interface List<R extends Row> {
  readonly resource: Resource;
  readonly tags: readonly string[];
  /** The tag that no other list has, for a list that belongs to one of many parents. */
  readonly ownTag?: string;
  /** Tags for the rows of a page, in addition to the list's own, for a list with many parents. */
  rowTags?(rows: readonly R[]): readonly string[];
  /** Replace the tags of the rows, which are unknown while a page is in flight. */
  readonly inFlightTags?: readonly string[];
  readonly path: string;
  /** Filters that make it a separate list, e.g. a search; without the paging parameters. */
  readonly query?: Readonly<Record<string, string>>;
  /** False if the upstream returns the whole list in one response, without paging parameters. */
  readonly paged: boolean;
  readonly decode: (body: unknown, context: DecodeContext) => Page<R>;
  /** The id of the row whose list it is, if that can come from another response. */
  readonly about?: number;
  /** The count of its rows that is recorded over time. */
  readonly count?: Count<R>;
  /** The read of one row by its id, if the API has one with all members of the list's row. */
  readonly single?: (id: number) => Read<R | null>;
  /**
   * What distinguishes each of these rows from all others of the list.
   * @default their ids
   */
  identities?(rows: readonly R[]): readonly string[];
  /** True if the list belongs to a parent that can be absent: its page is then `null`. */
  readonly absentIsNull?: boolean;
}

/** One page of a list, without its envelope. */
export interface Page<R extends Row> {
  readonly rows: readonly R[];
  /** Number of rows of all pages; `null` if the upstream does not provide it, or contradicts it. See `totalOf`. */
  readonly total: number | null;
  /** What the upstream states as `total`, if that is contradicted. */
  readonly result?: number | null;
  /** The page size the upstream used, which can be smaller than requested; `null` if it does not send it. */
  readonly perPage: number | null;
  /** 1-based; `null` if the upstream does not provide it. */
  readonly currentPage: number | null;
  /** The next page as the upstream states it, 0 for none; `null` if it does not. Can be wrong, see `pageEndOf`. */
  readonly nextPage: number | null;
  /** 0 and absent are both `null`: nothing can be concluded from either. */
  readonly maxPage: number | null;
  /** Number of rows that the upstream sent, including those that were skipped because they have no id. */
  readonly sent: number;
  /** Absent for a page that no upstream has sent. */
  readonly arrival?: PageArrival;
  /** Whether no row is on it twice. */
  readonly distinct?: boolean;
  /** Present in a dry run if the rows are unknown: creates a placeholder that represents this many rows. */
  readonly placeholder?: (rows: number) => R;
}

/** A state of a list, as one of its responses has shown it. */
export interface ListState {
  /** The ordinal of the response among those of the list, in this process. */
  readonly at: number;
  /** Number of responses so far that stated more rows of the list than the response before, and of those with fewer. */
  readonly grown: number;
  readonly shrunk: number;
  readonly total: number | null;
}

/** When a page was received. */
export interface PageArrival extends ListState {
  /** The latest responses before it for the same page, if they all had the same rows; in their order. */
  readonly same: readonly ListState[];
}

/** A response before it is decoded. */
export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** The meaning of a response, independent of its status, body and headers. */
export type Verdict =
  | { readonly kind: 'success'; readonly body: unknown }
  /** The object does not exist. `reason` is the upstream's sentence, for a write. */
  | { readonly kind: 'absent'; readonly reason: string }
  /** The rate limit was hit; nothing happened upstream. `retryAfterMs` is null when it is not known. */
  | { readonly kind: 'limited'; readonly retryAfterMs: number | null }
  | { readonly kind: 'unauthenticated' }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'rejected'; readonly reason: string }
  /** A web server has answered in place of the API, which did not get the request. `why` names the likely cause. */
  | { readonly kind: 'unserved'; readonly status: number; readonly why: string }
  /** No usable response: HTML, broken JSON, an empty body, a server error. `detail` is for the log. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfterMs?: number }
  | { readonly kind: 'invalid'; readonly detail: string }
  /** A response to a write that does not say whether it has happened. */
  | { readonly kind: 'unconfirmed'; readonly detail: string };

/** The protocol of one upstream API: only the differences between the two. */
export interface Api {
  readonly upstream: UpstreamName;
  /**
   * The encoding of a `body`.
   * @default 'json'
   */
  readonly bodyEncoding?: 'json' | 'form';
  /**
   * Adds the credential to a request about to be sent. It can also move the body into the query, for an upstream that
   * requires all parameters there: `body` is `undefined` afterwards.
   */
  readonly authorize: (
    request: {
      headers: Record<string, string>;
      query: URLSearchParams;
      body: Record<string, unknown> | undefined;
    },
    credential: string,
  ) => void;
  /** Classifies a response. Never throws. */
  readonly judge: (answer: RawAnswer, context: JudgeContext) => Verdict;
}

/** What a response answers, and when it came. */
export interface JudgeContext {
  readonly method: Call<unknown>['method'];
  readonly wallMs: number;
}

/** When, and as of which write, a response was requested: determined when its request is sent. */
export interface Stamp {
  /** On the clock of the cache. */
  readonly storedAt: number;
  /** The latest write that the response is known to include. */
  readonly generation: number;
}
