const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

/** Times and sizes that no installation has to choose. */
export interface Limits {
  /** Shares of a rate limit, from 0 to 1, that a caller above an equal share leaves to writes and to new callers. */
  readonly writeReserve: number;
  readonly newcomerReserve: number;
  /** Jobs that have not ended, of all callers and of one. */
  readonly jobsMax: number;
  readonly jobsMaxPerCaller: number;
  /** How long the output of a job is kept after its end. */
  readonly jobsKeepMs: number;
  /** Requests per minute and API key that all jobs together get although others wait, so that each job ends. */
  readonly jobsMinPerMinute: number;
  /** Of the saved cache; it contains the latest responses. */
  readonly cacheFileMaxBytes: number;
  /** Of the history of counts, in memory. */
  readonly historyMaxBytes: number;
  /** Of the outcomes of mutations with idempotency keys, about 1 kB each. */
  readonly idempotencyMaxBytes: number;
  /** API keys of callers that have sent upstream requests in the current window, with passthrough. */
  readonly passthroughMaxKeys: number;
  /** Of the text of an operation, including each use of a fragment. */
  readonly maxTokens: number;
  readonly maxDepth: number;
  readonly maxAliases: number;
  readonly maxDirectives: number;
  /** The time of validation grows with the square of the number of equal fields. */
  readonly maxFields: number;
  /** Open live queries, about 17 kB of memory each, of all callers and of one. */
  readonly liveMaxStreams: number;
  readonly liveMaxStreamsPerCaller: number;
  /** A stream ends between three quarters of this time and this time; clients reconnect at no upstream cost. */
  readonly liveMaxAgeMs: number;
  /** Of a file at `PUT /files/:filename`, which is streamed. */
  readonly uploadMaxBytes: number;
  /** Uploads at a time per API key; one caller can use half of them. */
  readonly uploadMaxConcurrent: number;
  /** Of a file of the mutation `uploadFile`, which is held in memory. */
  readonly uploadInlineMaxBytes: number;
  /** After a write whose response was lost, until its effect is looked for; `null` for half of the timeout of a request. */
  readonly writeSettleMs: number | null;
  /** For running operations and writes to complete after SIGTERM: less than the 30 s that Kubernetes waits. */
  readonly shutdownGraceMs: number;
  /** In which an entry is served after its ttl while it is refreshed: longer than a refresh of all entries in use. */
  readonly staleWhileRevalidateMs: number;
}

/** The limits of every gateway; tests set smaller ones. */
export const usualLimits: Limits = Object.freeze({
  writeReserve: 0.1,
  newcomerReserve: 0.1,
  jobsMax: 20,
  jobsMaxPerCaller: 2,
  jobsKeepMs: 7 * 24 * HOUR_MS,
  jobsMinPerMinute: 2,
  cacheFileMaxBytes: 64 * MIB,
  historyMaxBytes: 32 * MIB,
  idempotencyMaxBytes: 32 * MIB,
  passthroughMaxKeys: 1000,
  maxTokens: 2000,
  maxDepth: 15,
  maxAliases: 50,
  maxDirectives: 50,
  maxFields: 500,
  liveMaxStreams: 2000,
  liveMaxStreamsPerCaller: 500,
  liveMaxAgeMs: 300_000,
  uploadMaxBytes: 1024 * MIB,
  uploadMaxConcurrent: 8,
  uploadInlineMaxBytes: 8 * MIB,
  writeSettleMs: null,
  shutdownGraceMs: 15_000,
  staleWhileRevalidateMs: 900_000,
});
