import type { Viewer } from '../auth/viewer.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { DryRun } from '../upstream/dry-run/dry-run.ts';
import type { ReadWatcher } from '../upstream/operation.ts';
import type { Receipt } from '../upstream/receipt.ts';
import type { Usage } from '../usage/usage.ts';
import type { KeyedFields } from './keyed/keyed-fields.ts';
import type { Source } from './rows/source.ts';

/** The context of all resolvers of an operation: its view of the two upstreams, and its receipt. */
export interface GraphContext {
  readonly viewer: Viewer;
  readonly links: Source;
  readonly market: Source;
  readonly receipt: Receipt;
  /** Present when the operation is only priced. */
  readonly dryRun?: DryRun;
  /** Present for a mutation with idempotency keys. */
  readonly keyed?: KeyedFields;
  readonly clock: Clock;
  /** Counts requests by caller. */
  readonly usage: Usage;
  /** The jobs of the gateway. */
  readonly jobs: Jobs;
  /** Present for a live query: watches what is in its result and no cache entry. */
  readonly watcher?: Pick<ReadWatcher, 'look'>;
  /** Whether `User.apiKey` may be returned at all. */
  readonly exposeUserApiKeys: boolean;
  /** Largest file that a GraphQL request may carry. */
  readonly uploadInlineMaxBytes: number;
}
