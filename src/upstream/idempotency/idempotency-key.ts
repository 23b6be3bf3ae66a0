import type { UpstreamName } from '../../errors.ts';

/** What the gateway did for a mutation field with an idempotency key. */
export type KeyedOutcome = 'EXECUTED' | 'REPLAYED' | 'RECONCILED';

/** The outcome of one mutation field with an idempotency key, for `extensions.idempotency`. */
export interface KeyedReport {
  readonly outcome: KeyedOutcome;
  /** When the key was first used, as ISO 8601. */
  readonly firstAt: string;
  /** Upstream requests that this call caused for the field: sends and reads that looked for the effect. */
  readonly upstreamCalls: number;
}

/** Names the record of a key. No member reveals the key or its caller. See `Source.nameKey`. */
export interface KeyName {
  /** A hash of the caller, the credential and the key. Equal after a restart. */
  readonly name: string;
  /** A hash of the caller, whose records share the memory with those of other callers. */
  readonly scope: string;
  readonly upstream: UpstreamName;
}

/** The idempotency key of one mutation field. No member reveals the key or a value of the input. */
export interface IdempotencyKey extends KeyName {
  /** An HMAC of the mutation field and its coerced arguments, and of the length and digest of files. */
  readonly fingerprint: Fingerprint;
  /** The mutation field, e.g. `createChannel`. */
  readonly mutation: string;
  /** When the client made the key, in milliseconds since 1970, if it is a UUIDv7; otherwise `null`. */
  readonly madeAt: number | null;
  /** Called once, when the field has a result. */
  readonly report: (report: KeyedReport) => void;
}

/** The content of a keyed mutation. */
export interface Fingerprint {
  /**
   * Names the secret of the HMAC. Fingerprints with different secrets are not comparable: after the secret was rotated,
   * a key counts as used for the same content if the mutation is the same.
   */
  readonly secret: string;
  readonly digest: string;
}
