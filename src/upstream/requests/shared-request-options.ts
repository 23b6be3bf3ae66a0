import type { Clock } from '../../clock.ts';
import type { UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Budget, SharedResult, Sharing, Slot } from '../budget/budget.ts';
import type { Lane } from '../budget/lanes.ts';
import type { Receipt } from '../receipt.ts';
import type { Departing } from '../wire/observed-exchange.ts';
import type { Attempt, Outcome } from './attempt.ts';

/** What a shared request is about, whose it is, and how it is sent. */
export interface SharedRequestOptions<T> {
  readonly upstream: UpstreamName;
  readonly lane: Lane;
  /** Whom the slot is charged to. */
  readonly caller: string;
  /** What it is about, e.g. `channels`. */
  readonly resource: string;
  /** Whose operation has set a call aside for it; given back when it does not leave for that one. */
  readonly planned?: Receipt;
  readonly urgency?: () => number;
  /** Whether a refresh is still of use, though nobody waits for it. */
  readonly isWanted?: () => boolean;
  /** See `SlotRequest.lengthy`. */
  readonly lengthy?: boolean;
  readonly budget: Budget;
  readonly clock: Clock;
  /** Tries to send it, in a slot of its own. `payer` is the receipt that it goes on, if anybody waits. */
  readonly attempt: (
    payer: Receipt | undefined,
    departing: Departing,
    slot: Slot,
  ) => Promise<Attempt<T>>;
  /** What other replicas have to know of it. */
  readonly sharing?: Sharing;
  /** What the end of another replica's request for the same comes to; `null` if that is of no use here. */
  readonly elsewhere?: (result: SharedResult) => Promise<Outcome<T> | null>;
  readonly events?: EventStream | undefined;
}
