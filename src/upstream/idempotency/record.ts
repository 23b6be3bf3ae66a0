/** What is known of a keyed write whose outcome is not: a request was sent, the latest is over at `overAt`. */
export interface Ambiguity {
  /** 0 for a key that was perhaps used before, and that no request is known of. */
  readonly attempts: 0 | 1;
  /** When the first request was sent, on `Records.now`. */
  readonly sentAt: number;
  /**
   * When the latest request is certainly over, on `Records.now`: its connection is closed or it has timed out. Later
   * than that of any request while one is under way; a process that has ended has closed its connections.
   */
  readonly overAt: number;
  /**
   * Ids of rows that certainly existed before the first request, at least the highest; `null` if no page was cached.
   */
  readonly baseline: readonly number[] | null;
  /** Rows that may be the result; empty before they were looked for. */
  readonly candidates: readonly number[];
  /** Whether a created row was looked for, and no row can be it. */
  readonly isAbsent: boolean;
}

/** The final outcome of a keyed write. */
export type FinalOutcome =
  /** `value` is the decoded result without secrets, stored as JSON; `list` is the path of the list that has a row more. */
  | { readonly kind: 'done'; readonly value: unknown; readonly list?: string | undefined }
  /** The upstream rejected it, with this sentence for the caller. */
  | { readonly kind: 'rejected'; readonly reason: string };

/**
 * The record of a key that this request owns: no other request uses it until one of the last three is called. None of
 * the methods rejects.
 */
export interface OwnedRecord {
  /** When the key was first used, on `Records.now`. */
  readonly firstAt: number;
  /** What was left by an earlier owner; `null` for a key that was never sent. */
  readonly ambiguity: Ambiguity | null;
  /** A request has its slot, and is sent as soon as that and the record are saved. */
  sending(ambiguity: Ambiguity): void;
  /**
   * That request was not sent, or was refused for the rate limit: the record is as it was before `sending`, and still
   * owned. A crash may lose that.
   */
  unsent(): void;
  /**
   * The outcome is known. The caller does not wait until it is stored: a crash of the process does not lose it, and after
   * one of the machine at this moment, the record of its request is left.
   */
  ended(outcome: FinalOutcome): void;
  /** The request is over and its outcome is unknown. Another request may now own the record. */
  unknown(ambiguity: Ambiguity): void;
  /** Nothing was sent by this owner: the record is as it was before. Also for keys that were refused. */
  release(): void;
}

/** Why nothing is sent for a key. */
export type KnownKey =
  /** The key was used with another content. */
  | { readonly kind: 'reused' }
  /** The key was used, and its record has an unknown format: it is never executed. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'final'; readonly firstAt: number; readonly outcome: FinalOutcome };
