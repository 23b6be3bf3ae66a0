import type { ResultDocument } from './revisions.ts';
import type { WatchedReads } from './watched-reads.ts';

/** What a run of a query came to. */
export interface RunResult {
  readonly document: ResultDocument;
  /** What it has cost, as `extensions.upstream`. */
  readonly upstream: object;
  /** Present where the same may come out better then, in milliseconds: an upstream or its budget had nothing. */
  readonly retryAfterMs?: number;
  /** Present where nothing more can come of it: its key was refused. */
  readonly refused?: true;
}

/** What a run has to know. */
interface RunTerms {
  /** Whether viewers have no result until it has ended; with an older result they can wait for long. */
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
}

/** Runs a query once; its reads go through `reads`. Never rejects. */
export type LiveRun = (reads: WatchedReads, terms: RunTerms) => Promise<RunResult>;
