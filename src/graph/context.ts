import type { Clock } from '../clock.ts';
import type { Receipt } from '../upstream/receipt.ts';
import type { Source } from './source.ts';

/** What every resolver gets: one operation's view of the two upstreams, and its receipt. */
export interface GraphContext {
  readonly links: Source;
  readonly market: Source;
  readonly receipt: Receipt;
  readonly clock: Clock;
  /** Whether `User.apiKey` may be answered at all. */
  readonly exposeUserApiKeys: boolean;
  /** Largest file that a GraphQL request may carry. */
  readonly uploadInlineMaxBytes: number;
}
